"""Settings of sites: listed, looked up, set and taken back."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Query

from skitter.api.auth import Asking, operator, reader
from skitter.api.errors import ApiError
from skitter.api.examples import SETTINGS
from skitter.api.served import Served
from skitter.client.nodes import EffectiveSettings, SettingList, SettingRow

router = APIRouter(prefix="/v1/settings", tags=["sites"])

Pattern = Annotated[
    str, Path(max_length=300, description="A host, `*.example.com`, `.example.com`, or `*`.")
]
Values = Annotated[
    dict[str, str | int | float | bool | list[str] | None],
    Body(examples=[SETTINGS], min_length=1, max_length=20),
]


@router.get("", dependencies=[reader])
async def list_settings(service: Served) -> SettingList:
    """Tell what is set for sites."""
    rows = await service.ask({"settings": "list"})
    return SettingList(settings=[SettingRow.model_validate(row) for row in rows])


@router.get("/{pattern}", dependencies=[reader])
async def get_setting(service: Served, pattern: Pattern) -> EffectiveSettings:
    """Tell what counts for a host or a pattern, and where it is said."""
    [facts] = await service.ask({"settings": "get", "pattern": pattern})
    return EffectiveSettings.model_validate(facts)


@router.put("/{pattern}", dependencies=[operator])
async def set_setting(
    service: Served, role: Asking, pattern: Pattern, values: Values
) -> SettingRow:
    """Set values for the hosts of a pattern; those that are not named stay."""
    words = [f"{key}={_word(key, value)}" for key, value in values.items()]
    question = {"pattern": pattern, "words": words, "by": role.value}
    [facts] = await service.ask({"settings": "set", **question})
    return SettingRow.model_validate(facts)


@router.delete("/{pattern}", dependencies=[operator])
async def unset_setting(
    service: Served,
    role: Asking,
    pattern: Pattern,
    keys: Annotated[str, Query(description="Names with commas between them; none = all.")] = "",
) -> SettingRow:
    """Take values of a pattern back."""
    words = [word for word in keys.split(",") if word]
    question = {"pattern": pattern, "words": words, "by": role.value}
    [facts] = await service.ask({"settings": "unset", **question})
    return SettingRow.model_validate(facts)


def _word(key: str, value: Any) -> str:
    if value is None:
        raise ApiError(422, f"{key}: wanted a value; DELETE takes one back", key)
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(value) if isinstance(value, list) else str(value)
