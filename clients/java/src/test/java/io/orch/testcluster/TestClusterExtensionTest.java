package io.orch.testcluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class TestClusterExtensionTest {
  @RegisterExtension
  static final TestClusterExtension extension = new TestClusterExtension(TestCluster.options().controllers("none"));

  @Test
  void hasACluster(TestCluster cluster) {
    assertTrue(Files.exists(Path.of(cluster.kubeconfig())));
    assertEquals(cluster.kubeconfig(), cluster.env().get("KUBECONFIG"));
  }
}
