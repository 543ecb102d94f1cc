"""The rules of a job file: what is taken of a page, and which of its links are followed how."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Final

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

from skitter.job.fields import Domains, Pattern, Patterns, Priority
from skitter.job.part import Part
from skitter.job.selectors import check_css, check_form, check_xpath, takes_text

MOST_FIELDS: Final = 200
"""Fields of one rule set, those within others counted."""
DEEPEST: Final = 4
"""Fields within fields within fields."""

Xpath = Annotated[str, AfterValidator(check_xpath)]
Css = Annotated[str, AfterValidator(check_css)]


class PageClassName(StrEnum):
    """Of which class a page is that a rule leads to."""

    NAV = "nav"
    DATA = "data"


def _as_table(value: object) -> object:
    """Return a bare string, which is XPath, as the table it stands for."""
    return {"xpath": value} if isinstance(value, str) else value


class Place(Part):
    """Where something is on a page: one of the two. A bare string in its place is XPath."""

    xpath: Xpath | None = Field(default=None, description="XPath 1.0; a bare string is the same.")
    css: Css | None = Field(
        default=None, description="A CSS selector; `::text` and `::attr(name)` end it."
    )

    @model_validator(mode="after")
    def _one_of_them(self) -> "Place":
        if (self.xpath is None) == (self.css is None):
            raise ValueError("wanted either xpath or css")
        return self


Where = Annotated[Place, BeforeValidator(_as_table, json_schema_input_type=str | Place)]


class FieldRule(Part):
    """One field: where it is, and what is made of it."""

    xpath: Xpath | None = Field(default=None, description="XPath 1.0; a bare string is the same.")
    css: Css | None = Field(
        default=None, description="A CSS selector; `::text` and `::attr(name)` end it."
    )
    article: bool = Field(default=False, description="The text of the article on the page.")
    regex: Pattern | None = Field(
        default=None,
        description="Keep what this (RE2) finds, its first group if it has one; else nothing.",
    )
    all: bool = Field(default=False, description="A list of everything found, not the first.")
    join: str | None = Field(default=None, description="Everything found, joined by this.")
    strip: bool = Field(
        default=True, description="White space at both ends taken off, runs of it made one space."
    )
    absolute: bool = Field(default=False, description="A link, made absolute.")
    number: bool = Field(default=False, description='A number: "￥1,299.00" is 1299.0.')
    date: bool | str = Field(
        default=False,
        description="A date or time in RFC 3339; a string says the form (`%d/%m/%Y`).",
    )
    required: bool = Field(
        default=False,
        description="Without it the record is set aside, see `skitter job rejects`; its `--again`"
        " tries such pages once more when the rule is mended. With all that"
        " are required it never is: a page that looks like an error page has a note in `error`.",
    )
    fields: "Fields | None" = Field(
        default=None, description="A list of tables: these fields of every element found."
    )

    @model_validator(mode="after")
    def _fits_together(self) -> "FieldRule":
        places = [self.xpath is not None, self.css is not None, self.article]
        if sum(places) != 1:
            raise ValueError("wanted one of xpath, css and article = true")
        if self.all and self.join is not None:
            raise ValueError("all: a list is not joined; wanted all or join")
        if sum((self.number, bool(self.date), self.absolute)) > 1:
            raise ValueError("wanted one of number, date and absolute")
        said = {"regex", "join", "number", "date", "absolute", "article"} & self.model_fields_set
        if self.fields is not None and said:
            raise ValueError(f"{min(said)}: a table of fields has none of its own")
        if self.fields is not None and self.css is not None and takes_text(self.css):
            raise ValueError("css: fields are read within elements, not in ::text or ::attr()")
        return self

    @field_validator("date")
    @classmethod
    def _form(cls, value: bool | str) -> bool | str:
        if isinstance(value, str):
            check_form(value)
        return value


def _countable(fields: dict[str, FieldRule]) -> dict[str, FieldRule]:
    names = list(_all_names(fields))
    if len(names) > MOST_FIELDS:
        raise ValueError(f"{len(names)} fields; wanted {MOST_FIELDS} or fewer")
    if max((name.count(".") for name in names), default=0) >= DEEPEST:
        raise ValueError(f"fields within fields; wanted {DEEPEST} levels or fewer")
    return fields


def _all_names(fields: dict[str, FieldRule], before: str = "") -> Iterator[str]:
    for name, rule in fields.items():
        yield before + name
        if rule.fields is not None:
            yield from _all_names(rule.fields, f"{before}{name}.")


Name = Annotated[str, Field(pattern=r"^[^\s.\[\]]{1,64}$")]
_Field = Annotated[FieldRule, BeforeValidator(_as_table, json_schema_input_type=str | FieldRule)]
Fields = Annotated[dict[Name, _Field], AfterValidator(_countable)]
FieldRule.model_rebuild()


class ListRules(Part):
    """A page with a list: its items, where their own pages are, and the next page of the list."""

    model_config = ConfigDict(populate_by_name=True)

    from_: Where = Field(alias="from", description="The items of the list.")
    detail_url: Where | None = Field(
        default=None,
        description="Within an item: the link to its own page. Wanted unless `continue` is false.",
    )
    next: Where | None = Field(default=None, description="The link to the next page of the list.")
    continue_: bool = Field(
        default=True,
        alias="continue",
        description="Fetch each item's own page, and make one record of both.",
    )
    fields: Fields = Field(default_factory=dict, description="Within an item.")

    @model_validator(mode="after")
    def _items_go_somewhere(self) -> "ListRules":
        if self.continue_ and self.detail_url is None:
            raise ValueError(
                "wanted detail_url, where the page of an item is; or continue = false, and the"
                " items are all there is"
            )
        return self


class RuleSet(Part):
    """What is taken of a page."""

    fields: Fields = Field(default_factory=dict, description="By name.")


class LinkRule(Part):
    """Which links are followed, and as what. Of several rules the first that fits counts."""

    model_config = ConfigDict(populate_by_name=True)

    allow: Patterns = Field(default=(), description="URLs one of these matches; none = any.")
    deny: Patterns = Field(default=(), description="But not those one of these matches.")
    allow_domains: Domains = Field(default=(), description="On these domains; none = any.")
    deny_domains: Domains = Field(default=(), description="But not on these.")
    restrict_xpaths: Annotated[tuple[Xpath, ...], Field(strict=False)] = Field(
        default=(), description="Only links within these parts of a page."
    )
    restrict_css: Annotated[tuple[Css, ...], Field(strict=False)] = Field(
        default=(), description="The same, as CSS."
    )
    follow: bool = Field(default=True, description="False = links that fit are left alone.")
    class_: Annotated[PageClassName | None, Field(strict=False)] = Field(
        default=None,
        alias="class",
        description="`data` is fetched once, `nav` again by `refresh`; none = as the kind says.",
    )
    extract: str | None = Field(
        default=None,
        description="What is taken of such a page: `detail`, `list`, `none` or a name in `rules`;"
        " left out = `detail` of a data page, `list` of a nav page. Entries that no rule speaks of"
        " are read by `list` in a job that has one, by none in news jobs, else by `detail`.",
    )
    render: bool | None = Field(
        default=None,
        description="Whether such a page is read as a browser shows it; left out = as"
        " `http.render` says.",
    )
    priority: Priority | None = Field(default=None, description="0 (last) to 9 (first).")

    def identity(self) -> dict[str, object]:
        """Return what must be equal for a stored crawl to be continued.

        How a page is read is no part of it, as with the rules for fields.
        """
        return self.model_dump(mode="json", by_alias=True, exclude={"render"})


NOTHING: Final = "none"
EXTRACTS: Final = ("detail", "list", NOTHING)
"""What a link rule may say in ``extract`` beside the names of further rule sets."""
RuleName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
