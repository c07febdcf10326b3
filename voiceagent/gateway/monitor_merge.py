"""The objects of all workers' monitors as one, in the form of `server/http/server_monitor.py`. Counts are added; of percentiles
the worst worker's stands, as percentiles cannot be added. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from voiceagent.json_types import JsonObject
from voiceagent.server.http.server_monitor import MAX_LIVE

_WORST = ("p50_ms", "p95_ms")


def merged(found: Mapping[int, JsonObject]) -> JsonObject:
    """One object, from those of the workers by their numbers. The ended calls are those of the store, which all share."""
    each = list(found.values())
    first = each[0]
    reasons = [str(one["reason"]) for one in each]
    return {
        **first,
        "at": max(one["at"] for one in each),
        "reason": "" if "" in reasons else reasons[0],
        "places": sum(one["places"] for one in each),
        "waiting": sum(one["waiting"] for one in each),
        "pressure": max(one["pressure"] for one in each),
        "alerts": _alerts(found),
        "budget": _shares([one["budget"] for one in each]),
        "stages": _stages([one["stages"] for one in each]),
        "running": sum(one["running"] for one in each),
        "calls": sorted((call for one in each for call in one["calls"]), key=lambda call: -call["started"])[:MAX_LIVE],
        "ended": next((one["ended"] for one in each if one["ended"]), first["ended"]),
        "store_fails": any(one["store_fails"] for one in each),
        "workers": len(each),
    }


def _alerts(found: Mapping[int, JsonObject]) -> list[JsonObject]:
    """Each alert with the number of its worker."""
    told = [{**alert, "text": f"Worker {number}: {alert['text']}"} for number, one in found.items() for alert in one["alerts"]]
    return sorted(told, key=lambda alert: str(alert["severity"]))


def _shares(each: Sequence[Sequence[JsonObject]]) -> list[JsonObject]:
    """Turns and those over budget, by window."""
    return [
        {**shares[0], "turns": sum(one["turns"] for one in shares), "over": sum(one["over"] for one in shares)}
        for shares in zip(*each, strict=True)
    ]


def _stages(each: Iterable[Mapping[str, Sequence[JsonObject]]]) -> dict[str, list[JsonObject]]:
    """The stages of each leg: the sum of their counts, and the worst percentiles."""
    legs: dict[str, dict[str, JsonObject]] = {}
    for one in each:
        for leg, stages in one.items():
            known = legs.setdefault(leg, {})
            for stage in stages:
                known[stage["stage"]] = _worse(known.get(stage["stage"]), stage)
    return {leg: list(stages.values()) for leg, stages in legs.items()}


def _worse(known: JsonObject | None, stage: JsonObject) -> JsonObject:
    if known is None:
        return dict(stage)
    worst = {name: max((one[name] for one in (known, stage) if one[name] is not None), default=None) for name in _WORST}
    over = [name for name in ("p50", "p95") if name in known["over"] or name in stage["over"]]
    return {**known, **worst, "count": known["count"] + stage["count"], "over": over}
