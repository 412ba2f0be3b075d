"""The component `span_ensemble`: joins the scored spans of other components."""

import warnings
from copy import deepcopy
from dataclasses import fields
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence

import srsly
from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import ensure_path

from ..errors import Errors, Warnings
from ..files import staged_folder
from ..settings import defaults_of, expand
from .annotations import SCORE_OF_OTHERS, write_prediction
from .calibration import Calibration
from .config_checks import warn_of_no_choice
from .ensemble_settings import EnsembleSettings
from .factories import DEFAULT_SCORE_WEIGHTS, SCORER
from .joining import Found, average, calibrated, collect_votes, join
from .overrides import merge_stored, with_origin
from .shared_keys import WrittenGroups, group_written_by
from .span_scores import register_scores, scores_of
from .state import CHOSEN_THRESHOLD, MAY_LACK, threshold_of, with_number
from .storage import CFG, exact_json, read_parts, read_settings, unpack

FACTORY = "span_ensemble"
# Members that leave out spans with higher scores than this are warned of.
LOW_ENOUGH = 0.1


class SpanEnsemble(Pipe):
    """Joins the span groups of other components by the mean of their scores.

    It has no weights to train: `spanner tune` fits its settings. All of them live in
    `cfg`, are saved with the component, and may be changed at any time.

    groups (WrittenGroups): the groups that components of the pipeline write.

    >>> nlp = spacy.load("ensemble")
    >>> nlp.get_pipe("span_ensemble").cfg["members"]
    ['span_biaffine', 'span_offset']
    """

    def __init__(
        self,
        name: str,
        groups: WrittenGroups,
        *,
        scorer: Optional[Callable] = None,
        **settings: Any,
    ) -> None:
        """Make a component.

        name (str): its name in the pipeline.
        groups (WrittenGroups): the groups that components of the pipeline write.
        scorer (Optional[Callable]): scoring function.
        **settings: see `EnsembleSettings`.
        RAISES (ValueError): SP002 for a setting out of its limits, SP173 for a list of
            the wrong length, SP174 if a member writes to `spans_key`.
        """
        self.name, self.scorer = name, scorer
        self.cfg: Dict[str, Any] = settings
        self.made_with = deepcopy(settings)
        self.groups = groups
        self.require_own_key(self.settings)

    @property
    def settings(self) -> EnsembleSettings:
        """The settings in `cfg`, checked; the threshold is a number."""
        return settings_in(self.cfg)

    @property
    def member_keys(self) -> List[str]:
        """The span groups that the members write now, in their order."""
        return self._keys_of(self.cfg["members"])

    def _keys_of(self, members: Sequence[str]) -> List[str]:
        groups = self.groups.by_component()
        return [groups.get(member, member) for member in members]

    def __call__(self, doc: Doc) -> Doc:
        """Join the spans of a document.

        RAISES (ValueError): SP170 if a group of a member is missing, SP172 if it has no
            scores, SP174 if a member writes to `spans_key`.
        """
        settings = self.settings
        keys = self.require_own_key(settings)
        n_members = len(keys)
        found = [self.read_member(doc, *one) for one in zip(settings.members, keys)]
        votes = collect_votes(found)
        labels = sorted({label for *_, label in votes.rows})
        scores = calibrated(votes, settings.calibrations)
        score = average(scores, settings.weights or [1.0] * n_members)
        score = Calibration(settings.temperature, settings.bias).of(score)
        common = float(settings.threshold)
        lowest = {one: settings.label_thresholds.get(one, common) for one in labels}
        spans = join(votes, score, labels, lowest, settings.overlap)
        write_prediction(doc, spans, labels, settings.for_writing)
        if not settings.keep_members:
            for key in keys:
                doc.spans.pop(key, None)
        return doc

    def read_member(self, doc: Doc, member: str, key: str) -> Found:
        """RETURNS (Found): the scores that a member has given to spans of a document.

        member (str): the member.
        key (str): the group that it writes.
        RAISES (ValueError): SP170 if its group is missing, SP172 without scores.
        """
        if key not in doc.spans:
            if not len(doc):
                return {}
            raise ValueError(
                Errors.SP170.format(
                    component=self.name,
                    member=member,
                    key=key,
                    existing=", ".join(map(repr, sorted(doc.spans))) or "none",
                )
            )
        group, scores = doc.spans[key], scores_of(doc, key)
        if len(group) and all(score is None for score in scores):
            raise ValueError(
                Errors.SP172.format(component=self.name, member=member, key=key)
            )
        known = [SCORE_OF_OTHERS if score is None else score for score in scores]
        return {(s.start, s.end, s.label_): x for s, x in zip(group, known)}

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Optional[Language] = None,
    ) -> None:
        """Check the members; nothing is learned.

        RAISES (ValueError): see `check_members`.
        """
        self.cfg.pop(CHOSEN_THRESHOLD, None)  # it was for other members
        if nlp is not None:
            check_members(nlp, self)
            warn_of_no_choice(nlp, self)

    def require_own_key(self, settings: EnsembleSettings) -> List[str]:
        """RETURNS (List[str]): the span groups of the members, in their order.

        RAISES (ValueError): SP174 if a member writes where the ensemble writes.
        """
        keys = self._keys_of(settings.members)
        for member, key in zip(settings.members, keys):
            if key == settings.spans_key:
                raise ValueError(
                    Errors.SP174.format(component=self.name, member=member, key=key)
                )
        return keys

    # ----------------------------------------------------------------- storage

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """RETURNS (bytes): the settings.

        exclude (Iterable[str]): "cfg" leaves them out, here and below.
        """
        parts = {} if CFG in exclude else {CFG: self._stored()}
        return srsly.msgpack_dumps(parts)

    def from_bytes(
        self, bytes_data: bytes, *, exclude: Iterable[str] = ()
    ) -> "SpanEnsemble":
        """Load settings, as `merge_stored` chooses them; those of before stay if the
        stored ones are refused.

        RAISES (ValueError): SP148 if they are damaged, SP002, SP173 and SP174 as when a
            component is made.
        """
        if CFG not in exclude:
            self._load(unpack(bytes_data, self.name), f"'{self.name}'")
        return self

    def to_disk(self, path: Any, *, exclude: Iterable[str] = ()) -> None:
        """Store the settings, all or nothing."""
        with staged_folder(ensure_path(path)) as folder:
            if CFG not in exclude:
                (folder / CFG).write_text(self._stored(), encoding="utf8")

    def from_disk(self, path: Any, *, exclude: Iterable[str] = ()) -> "SpanEnsemble":
        """Load settings; raises what `from_bytes` raises."""
        folder = ensure_path(path)
        if CFG not in exclude:
            self._load(read_parts(folder), f"'{self.name}' ({folder})")
        return self

    def _stored(self) -> str:
        return exact_json(with_origin(self.cfg, self.made_with))

    def _load(self, parts: Dict[str, Any], place: str) -> None:
        stored, defaults = read_settings(parts, place), defaults_of(EnsembleSettings)
        chosen = merge_stored(stored, self.made_with, defaults, self.name)
        cfg = {**{k: v for k, v in self.cfg.items() if k not in MAY_LACK}, **chosen}
        self.require_own_key(settings_in(cfg))
        for name in self.cfg.keys() - cfg.keys():
            del self.cfg[name]
        self.cfg.update(cfg)


def settings_in(cfg: Dict[str, Any]) -> EnsembleSettings:
    """RETURNS (EnsembleSettings): the settings in a `cfg`; the threshold is a number.

    RAISES (ValueError): SP002 for a setting out of its limits, SP173 for a list of the
        wrong length.
    """
    known = {one.name for one in fields(EnsembleSettings)}
    in_use = with_number(cfg, float(EnsembleSettings.threshold))
    return EnsembleSettings(**{k: v for k, v in in_use.items() if k in known})


def check_members(nlp: Language, ensemble: SpanEnsemble) -> None:
    """Check that every member can give the ensemble what it needs. From now on, its
    members are those of this pipeline, also if it was made for another one.

    RAISES (ValueError): SP170 for an unknown member, SP171 for one that runs after the
        ensemble, SP174 for one that writes to the same group. Warns (SW170) of members
        that leave out spans with low scores.
    """
    ensemble.groups = WrittenGroups(nlp)
    ensemble.require_own_key(ensemble.settings)
    place = nlp.component_names.index(ensemble.name)
    keys = [(name, group_written_by(pipe)) for name, pipe in nlp.components]
    for member, key in zip(ensemble.cfg["members"], ensemble.member_keys):
        found = [n for n, (name, own) in enumerate(keys) if member in (name, own)]
        if not found:
            existing = ", ".join(f"{name!r}" for name, own in keys if own) or "none"
            raise ValueError(
                Errors.SP170.format(
                    component=ensemble.name, member=member, key=key, existing=existing
                )
            )
        if min(found) > place:
            raise ValueError(
                Errors.SP171.format(component=ensemble.name, member=member)
            )
        pipe: Any = nlp.components[found[0]][1]
        warn_of_threshold(ensemble, member, pipe)


def warn_of_threshold(ensemble: SpanEnsemble, member: str, pipe: Any) -> None:
    """Warn (SW170) of a member that does not report spans with low scores."""
    threshold = threshold_of(pipe) or 0.0
    overlap = (getattr(pipe, "cfg", None) or {}).get("overlap", "any")
    if threshold > LOW_ENOUGH or overlap != "any":
        warnings.warn(
            Warnings.SW170.format(
                component=ensemble.name,
                member=member,
                threshold=threshold,
                overlap=overlap,
            )
        )


def make_span_ensemble(
    nlp: Language, name: str, scorer: Optional[Callable] = None, **chosen: Any
) -> SpanEnsemble:
    """Create a component that joins the span groups of others.

    nlp (Language): the pipeline, whose components are the members.
    name (str): name of the component in the pipeline.
    scorer (Optional[Callable]): scores predictions; see `make_spans_scorer`.
    RETURNS (SpanEnsemble): the component.
    """
    register_scores()
    settings = {**defaults_of(EnsembleSettings), **chosen}
    return SpanEnsemble(name, WrittenGroups(nlp), scorer=scorer, **settings)


expand(make_span_ensemble, EnsembleSettings)
Language.factory(
    FACTORY,
    assigns=["doc.spans"],
    default_config={"scorer": SCORER, **defaults_of(EnsembleSettings)},
    default_score_weights=DEFAULT_SCORE_WEIGHTS,
    func=make_span_ensemble,
)
