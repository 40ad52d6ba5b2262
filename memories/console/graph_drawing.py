"""Where the dots and lines of a graph are drawn: the same graph is always drawn the same. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import cos, pi, radians, sin

# In the units of the drawing.
SIDE = 860
CENTRE = SIDE / 2
OUTER = 265
LONGEST_LABEL = 20
# How far inside its holder what is hidden is drawn, and how far apart several are.
INWARD, FAN = 26, 14

Key = tuple[str, str]


@dataclass(frozen=True)
class Dot:
    """A record: where it is drawn, its label, and how that is turned; `flipped` labels end at the dot.

    A label that is `below` is not turned: further records come where it would lead.
    """

    key: Key
    x: float
    y: float
    label: str
    title: str
    url: str
    turn: float
    flipped: bool
    below: bool
    start: bool


@dataclass(frozen=True)
class Line:
    """A link between two dots, or from a dot to something hidden, of which nothing is told."""

    x1: float
    y1: float
    x2: float
    y2: float
    rel: str
    hidden: bool


@dataclass(frozen=True)
class Drawing:
    """Everything there is to draw, in a square."""

    dots: Sequence[Dot]
    lines: Sequence[Line]
    side: int = SIDE


@dataclass(frozen=True)
class Spot:
    """A place: how far from the middle, and in which direction in degrees; `inner` when others are drawn behind it."""

    radius: float
    angle: float
    inner: bool = False

    @property
    def point(self) -> tuple[float, float]:
        """The coordinates, to a tenth."""
        turned = radians(self.angle - 90)
        return round(CENTRE + self.radius * cos(turned), 1), round(CENTRE + self.radius * sin(turned), 1)


@dataclass(frozen=True)
class Named:
    """A record to draw: what it is called, and where its page is."""

    key: Key
    title: str
    url: str


@dataclass(frozen=True)
class Link:
    """From the record that points; `to` is None for what is hidden."""

    holder: Key
    to: Key | None
    rel: str = ""


def draw(named: Sequence[Named], links: Sequence[Link], start: Key | None) -> Drawing:
    """Draw records and links: around `start` in rings by distance, without it in one circle."""
    keys = [one.key for one in named]
    spots = rings(keys, links, start) if start in keys and start is not None else circle(keys, links)
    dots = [_dot(one, spots[one.key], one.key == start) for one in named]
    lines: list[Line] = []
    hidden: dict[Key, int] = {}
    for link in links:
        if link.holder not in spots:
            continue
        if link.to is None:
            number = hidden[link.holder] = hidden.get(link.holder, 0) + 1
            ends = (spots[link.holder].point, _aside(spots[link.holder], number).point)
        elif link.to in spots:
            ends = (spots[link.holder].point, _short_of(spots[link.to].point, spots[link.holder].point))
        else:
            continue
        lines.append(Line(*ends[0], *ends[1], link.rel, link.to is None))
    return Drawing(dots, lines)


def circle(keys: Sequence[Key], links: Sequence[Link]) -> Mapping[Key, Spot]:
    """Everything on one circle, in the order of a walk along the links, so that most of these are short."""
    near = _neighbours(keys, links)
    order: dict[Key, None] = {}
    for first in sorted(keys, key=lambda one: (-len(near[one]), keys.index(one))):
        waiting = [first]
        while waiting:
            one = waiting.pop()
            if one not in order:
                order[one] = None
                waiting += [other for other in reversed(near[one]) if other not in order]
    step = 360 / max(1, len(order))
    return {key: Spot(OUTER, step * place) for place, key in enumerate(order)}


def rings(keys: Sequence[Key], links: Sequence[Link], start: Key) -> Mapping[Key, Spot]:
    """The start in the middle, all others in rings by distance, each in the part of the ring of what leads to it."""
    near = _neighbours(keys, links)
    children: dict[Key, list[Key]] = {start: []}
    level = [start]
    depth = {start: 0}
    while level:
        following: list[Key] = []
        for one in level:
            for other in near[one]:
                if other not in depth:
                    depth[other] = depth[one] + 1
                    children[one].append(other)
                    children[other] = []
                    following.append(other)
        level = following
    for lost in keys:
        if lost not in depth:
            depth[lost], children[lost] = max(1, max(depth.values())), []
            children[start].append(lost)
    deepest = max(1, *depth.values())
    spots: dict[Key, Spot] = {}
    _spread(start, children, depth, (0.0, 360.0), OUTER / deepest, spots)
    return spots


def _spread(
    key: Key,
    children: Mapping[Key, Sequence[Key]],
    depth: Mapping[Key, int],
    part: tuple[float, float],
    gap: float,
    spots: dict[Key, Spot],
) -> None:
    spots[key] = Spot(gap * depth[key], (part[0] + part[1]) / 2, inner=bool(children[key]))
    leaves = {one: _leaves(one, children) for one in children[key]}
    whole, at = sum(leaves.values()), part[0]
    for one, count in leaves.items():
        wide = (part[1] - part[0]) * count / whole
        _spread(one, children, depth, (at, at + wide), gap, spots)
        at += wide


def _leaves(key: Key, children: Mapping[Key, Sequence[Key]]) -> int:
    return sum(_leaves(one, children) for one in children[key]) or 1


def _neighbours(keys: Sequence[Key], links: Sequence[Link]) -> Mapping[Key, list[Key]]:
    near: dict[Key, dict[Key, None]] = {key: {} for key in keys}
    for link in links:
        if link.to is not None and link.holder in near and link.to in near and link.to != link.holder:
            near[link.holder][link.to] = near[link.to][link.holder] = None
    return {key: list(found) for key, found in near.items()}


def _dot(one: Named, spot: Spot, start: bool) -> Dot:
    x, y = spot.point
    angle = spot.angle % 360
    below = start or spot.inner
    flipped = angle > 180 and not below
    turn = 0.0 if below else round(angle - 90 + (180 if flipped else 0), 1)
    label = one.title if len(one.title) <= LONGEST_LABEL else one.title[: LONGEST_LABEL - 1].rstrip() + "…"
    return Dot(one.key, x, y, label, one.title, one.url, turn, flipped, below, start)


def _aside(spot: Spot, number: int) -> Spot:
    # Inside the ring, where no label is; several next to each other, first one way and then the other.
    side = (number // 2) * (1 if number % 2 else -1)
    if spot.radius < INWARD:
        return Spot(INWARD, 180 + side * 30)
    inner = spot.radius - INWARD
    return Spot(inner, spot.angle + side * FAN * 180 / (pi * max(inner, INWARD)))


def _short_of(point: tuple[float, float], origin: tuple[float, float], by: float = 9.0) -> tuple[float, float]:
    # The head of an arrow ends at the edge of the dot.
    wide, high = point[0] - origin[0], point[1] - origin[1]
    length = (wide * wide + high * high) ** 0.5
    if length <= by:
        return point
    return round(point[0] - wide * by / length, 1), round(point[1] - high * by / length, 1)
