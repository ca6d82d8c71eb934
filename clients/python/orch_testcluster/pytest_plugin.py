"""Fixtures: ``orch_cluster`` for the whole run, with the options that ``orch_cluster_options`` returns."""

from typing import Any, Dict, Iterator

import pytest

from orch_testcluster import TestCluster, start_cluster


@pytest.fixture(scope="session")
def orch_cluster_options() -> Dict[str, Any]:
    """Overridden in a conftest.py: the options of ``start_cluster``."""
    return {}


@pytest.fixture(scope="session")
def orch_cluster(orch_cluster_options: Dict[str, Any]) -> Iterator[TestCluster]:
    """A cluster that all tests of the run share."""
    with start_cluster(**orch_cluster_options) as cluster:
        yield cluster
