"""The catalogue: every data set of the paper, where its files belong and where its owner publishes them.

Nothing here goes to the network; `fetch.py` does, when asked, for the sets with a stable public address.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from manifuse.errors import look_up
from manifuse.study.datasets import awa, cal7, hw, nus, osr, pubfig, shoes
from manifuse.study.datasets.array_files import Form, any_there, described
from manifuse.study.datasets.dataset import Dataset
from manifuse.study.datasets.digits import digits


@dataclass(frozen=True)
class Address:
    """A stable public address of an archive.

    Attributes
    ----------
    url : str
    members : mapping of str to str
        Name of a file in the archive, in whichever of its folders, to its path in the data folder.
    sha256 : str or None
        Of the archive, where we know it.
    """

    url: str
    members: Mapping[str, str]
    sha256: str | None = None


@dataclass(frozen=True)
class Entry:
    """What is known of a data set before it is read.

    Attributes
    ----------
    name : str
        What the command line calls it.
    title : str
    summary : str
        What its rows and tasks are, in a line.
    loader : callable
        Reads it from the data folder.
    forms : tuple of tuple of str
        Forms in which its files are read, each by its paths in the data folder; none for bundled data.
    owner : str
        Where its owner publishes it.
    citation : str
    address : Address or None
        Where `fetch` gets it, if it has a stable public address.
    """

    name: str
    title: str
    summary: str
    loader: Callable[[Path], Dataset]
    forms: tuple[Form, ...]
    owner: str
    citation: str
    address: Address | None = None

    @property
    def expected(self) -> str:
        """The files in words."""
        return described(self.forms) if self.forms else "nothing"

    def is_there(self, folder: Path) -> bool:
        """Whether the folder has something of it, be it complete or not."""
        return not self.forms or any_there(folder, self.forms)


def load(name: str, folder: Path) -> Dataset:
    """Read the data set of this name from the data folder.

    Raises
    ------
    InputError
        If there is no such data set, or its files are not there or not what they should be.
    """
    return entry(name).loader(folder)


def entry(name: str) -> Entry:
    """Look a data set up by its name.

    Raises
    ------
    InputError
        If there is none of this name; the sentence says which is nearest.
    """
    return look_up(name, CATALOGUE, kind="data set")


def _bundled_digits(folder: Path) -> Dataset:
    del folder
    return digits()


_RELATIVE = "https://cc.gatech.edu/~parikh/relative.html (relative_attributes_v2.zip)"
_LI = "https://github.com/yeqinglee/mvdata (links to a shared drive)"

_ENTRIES = (
    Entry(
        "pubfig",
        "Public Figures, PubFig",
        "faces of 8 people; 11 ordered attributes as tasks",
        pubfig.pubfig,
        pubfig.FILES,
        _RELATIVE,
        "D. Parikh, K. Grauman: Relative Attributes. ICCV 2011; N. Kumar et al., ICCV 2009",
    ),
    Entry(
        "osr",
        "Outdoor Scene Recognition, OSR",
        "scenes of 8 categories; 6 ordered attributes as tasks",
        osr.osr,
        osr.FILES,
        _RELATIVE,
        "D. Parikh, K. Grauman: Relative Attributes. ICCV 2011; A. Oliva, A. Torralba, IJCV 2001",
    ),
    Entry(
        "shoes",
        "Shoes of WhittleSearch",
        "shoes of 10 kinds; 10 ordered attributes as tasks",
        shoes.shoes,
        shoes.FILES,
        "http://vision.cs.utexas.edu/whittlesearch/ (put the .mat file of the features beside the attributes)",
        "A. Kovashka, D. Parikh, K. Grauman: WhittleSearch. CVPR 2012",
    ),
    Entry(
        "cal7",
        "Caltech-101, 7 categories",
        "images of 7 categories; 6 feature views as tasks",
        cal7.cal7,
        cal7.FILES,
        _LI,
        "L. Fei-Fei, R. Fergus, P. Perona, CVIU 2007; features: Y. Li et al., AAAI 2015",
    ),
    Entry(
        "nus",
        "NUS-WIDE-Object",
        "images of 31 categories; 5 feature views as tasks",
        nus.nus,
        nus.FILES,
        f"https://lms.comp.nus.edu.sg/wp-content/uploads/2019/research/nuswide/NUS-WIDE.html, and {_LI}",
        "T.-S. Chua et al.: NUS-WIDE. CIVR 2009; Y. Li et al., AAAI 2015",
    ),
    Entry(
        "hw",
        "Handwritten digits, UCI Multiple Features",
        "10 digits; 6 feature sets as tasks",
        hw.hw,
        hw.FILES,
        "https://archive.ics.uci.edu/dataset/72/multiple+features",
        "R. P. W. Duin: Multiple Features. UCI Machine Learning Repository, doi:10.24432/C5HC70",
        Address(
            "https://archive.ics.uci.edu/static/public/72/multiple+features.zip",
            MappingProxyType({Path(path).name: path for path in hw.PUBLISHED}),
        ),
    ),
    Entry(
        "awa",
        "Animals with Attributes",
        "images of 50 animals; feature views as tasks",
        awa.awa,
        awa.FILES,
        "https://cvml.ist.ac.at/AwA/ (AwA-base and AwA-features-*.tar.bz2)",
        "C. H. Lampert, H. Nickisch, S. Harmeling, CVPR 2009 and TPAMI 2014",
    ),
    Entry(
        "digits",
        "Optical digits of scikit-learn",
        "10 digits; 6 views of our own as tasks",
        _bundled_digits,
        (),
        "scikit-learn, which brings it along",
        "E. Alpaydin, C. Kaynak: Optical Recognition of Handwritten Digits. UCI Machine Learning Repository",
    ),
)

#: Every data set by its name, in the paper's order.
CATALOGUE: Mapping[str, Entry] = MappingProxyType({each.name: each for each in _ENTRIES})
