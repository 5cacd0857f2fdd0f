"""Facts that a dataset declares when it is registered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from exparity.core.plain import as_list
from exparity.types import Example, Facts


@dataclass(frozen=True)
class RemoteFile:
    """A file that a dataset is read from.

    Attributes:
        path: where it lies, relative to the data folder.
        url: where it can be downloaded, pinned to a commit where there is one.
        sha256: its digest in hexadecimal; None if it is not known.
        member: its name in the ZIP archive at that address; None if the address is its own.
        by_hand: how to get it where only a person can, with an account for example.
    """

    path: str
    url: str
    sha256: str | None = None
    member: str | None = None
    by_hand: str | None = None


@dataclass(frozen=True)
class Marking:
    """The words that one rater marked in one text.

    Attributes:
        where: its place, for messages.
        example_id: the text.
        rater: the rater.
        groups: the rater's group, by attribute, such as ``age``.
        marks: (w,) 0 or 1 for each word of the text.
        label: class that the rater gave the text; None where nobody asked.
    """

    where: str
    example_id: str
    rater: str
    groups: Mapping[str, str]
    marks: Sequence[int]
    label: str | None = None


@dataclass(frozen=True, kw_only=True)
class DatasetFacts(Facts):
    """Facts of a dataset.

    Attributes:
        labels: names of the classes, by label index.
        licence: terms of use.
        attribute: the protected attribute; empty where examples are of no groups.
        groups: its values; their order fixes the sign of every difference (first − second). Without
            any, nothing is compared, and each example's group is empty.
        matched: True if examples have matched sets (pairs).
        rationales: True if the words that carry the label are marked.
        files: its raw files; none if it is generated or the user's own.
        path_options: its options that name files of the user's own.
        from_hub: whether each of these may name several files, and addresses of the Hugging Face
            Hub, at the commit of its option ``revision``.
        rationale_option: its option that brings rationales where it has none without it.
        group_option: its option that says where the groups are, if options decide on them; it has
            none where that or ``groups`` is set and empty.
        group_terms: words that name each group, by form: those of one form stand for one another.
        sizes: its training and test examples with default options, where that is published; for
            plans where its files are not at hand.
        dropped: number of rows that options leave out, by reason.
        labels_sorted: whether the classes are in the order of their names, for want of another.
        group_decides_label: True if the same text of another group has another label, so that there
            are no counterfactuals that keep it.
        markings: called as ``markings(source, examples, **options)`` with the examples by id;
            returns the words that each of several raters marked in them. None where nobody did.
        rater_option: its option, with the ``path`` of a file, that these alone depend on and that
            brings them; None where they need none.
        check_options: checks all options before any job, their files being there; raises
            InputError where these do not fit.

    Attribute, groups and labels may depend on options: a dataset that returns a :class:`Loaded`
    says there what holds, and the facts are those of its default options, or empty.
    """

    labels: tuple[str, ...]
    licence: str
    attribute: str = ""
    groups: tuple[str, ...] = ()
    matched: bool = False
    rationales: bool = False
    files: tuple[RemoteFile, ...] = ()
    path_options: tuple[str, ...] = ()
    from_hub: bool = False
    rationale_option: str | None = None
    group_option: str | None = None
    group_terms: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)
    sizes: tuple[int, int] | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    labels_sorted: bool = False
    group_decides_label: bool = False
    markings: Callable[..., Iterable[Marking]] | None = None
    rater_option: str | None = None
    check_options: Callable[[Mapping[str, object]], None] | None = None

    def has_raters(self, options: Mapping[str, object]) -> bool:
        """Return whether several people marked words of its texts, under these options."""
        option = self.rater_option
        return self.markings is not None and (option is None or bool(options.get(option)))

    def marks_words(self, options: Mapping[str, object]) -> bool:
        """Return whether it marks the words that carry the label, under these options."""
        return self.rationales or bool(options.get(self.rationale_option or ""))

    def has_groups(self, options: Mapping[str, object]) -> bool:
        """Return whether its examples have groups, under these options."""
        option = self.group_option
        named = options.get("groups")
        if option is None:
            return bool(self.groups)
        where = option == "groups" or bool(options.get(option, True))
        return where and (named is None or len(as_list(named)) > 0)


@dataclass(frozen=True)
class Loaded:
    """Examples of a dataset whose options decide on attribute, groups or labels.

    What holds of these replaces what the dataset's :class:`DatasetFacts` say.
    """

    examples: Sequence[Example]
    attribute: str
    groups: tuple[str, ...]
    labels: tuple[str, ...]
    dropped: Mapping[str, int] = field(default_factory=dict)
    labels_sorted: bool = False
