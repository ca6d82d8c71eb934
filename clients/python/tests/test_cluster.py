import os
import ssl
import tempfile
import urllib.request

import pytest

from orch_testcluster import start_cluster


def context_of(cluster):
    context = ssl.create_default_context(cadata=cluster.ca)
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as pair:
        pair.write(cluster.client_certificate + cluster.client_key)
        pair.flush()
        context.load_cert_chain(pair.name)
    return context


def test_the_fixture_has_a_cluster_that_answers(orch_cluster):
    url = f"{orch_cluster.url}/api/v1/namespaces/default"
    with urllib.request.urlopen(url, context=context_of(orch_cluster)) as response:
        assert response.status == 200
    assert orch_cluster.env["KUBECONFIG"] == orch_cluster.kubeconfig


def test_nothing_is_left_after_stop():
    with start_cluster(controllers="none") as cluster:
        assert os.path.exists(cluster.kubeconfig)
    assert not os.path.exists(cluster.kubeconfig)


def test_a_start_that_fails_tells_why():
    with pytest.raises(RuntimeError, match='unknown controller "nonsense"'):
        start_cluster(controllers="nonsense")
