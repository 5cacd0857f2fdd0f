"""Names for authors of plug-ins: the types that parts take and return, and ranges of options."""

from exparity.core.flags import Count as Count
from exparity.core.flags import NotNegative as NotNegative
from exparity.core.flags import Positive as Positive
from exparity.core.flags import Range as Range
from exparity.core.flags import Share as Share
from exparity.core.seeding import seeded as seeded
from exparity.data.facts import Loaded as Loaded
from exparity.data.facts import RemoteFile as RemoteFile
from exparity.data.files import DataSource as DataSource
from exparity.explanations import Explanation as Explanation
from exparity.types import SPECIAL_WORD as SPECIAL_WORD
from exparity.types import BoolArray as BoolArray
from exparity.types import Encoding as Encoding
from exparity.types import Example as Example
from exparity.types import FloatArray as FloatArray
from exparity.types import IntArray as IntArray
from exparity.types import Origin as Origin
from exparity.types import Text as Text
from exparity.types import TextLike as TextLike
