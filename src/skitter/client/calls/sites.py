"""Calls about sites: what is set for them, and their other names."""

from collections.abc import Mapping, Sequence
from typing import Any

from skitter.client.calls.base import Call, below
from skitter.client.nodes import (
    AliasList,
    AliasUndone,
    EffectiveSettings,
    SettingList,
    SettingRow,
)


def settings() -> Call[SettingList]:
    """List what is set for sites."""
    return Call(SettingList, "GET", below("settings"))


def setting(pattern: str) -> Call[EffectiveSettings]:
    """Tell what counts for a host or pattern."""
    return Call(EffectiveSettings, "GET", below("settings", pattern))


def set_setting(pattern: str, values: Mapping[str, Any]) -> Call[SettingRow]:
    """Set values for the hosts of a pattern; others of it stay."""
    return Call(SettingRow, "PUT", below("settings", pattern), body=dict(values))


def unset_setting(pattern: str, keys: Sequence[str] = ()) -> Call[SettingRow]:
    """Take back some values of a pattern, or all."""
    params = {"keys": ",".join(keys) or None}
    return Call(SettingRow, "DELETE", below("settings", pattern), params)


def aliases(*, job: str | None = None) -> Call[AliasList]:
    """List hosts that are crawled under another name."""
    return Call(AliasList, "GET", below("aliases"), {"job": job})


def undo_alias(host: str, *, job: str | None = None) -> Call[AliasUndone]:
    """Crawl a host under its own name again."""
    return Call(AliasUndone, "DELETE", below("aliases", host), {"job": job})
