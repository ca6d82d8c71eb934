import pytest

pytest_plugins = ["orch_testcluster.pytest_plugin"]


@pytest.fixture(scope="session")
def orch_cluster_options():
    return {"controllers": "none"}
