package io.orch.testcluster;

import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/** A JUnit 5 extension: tests and their class's methods get the {@link TestCluster} of their class as a parameter. */
public final class TestClusterExtension implements ParameterResolver {
  private static final ExtensionContext.Namespace NAMESPACE = ExtensionContext.Namespace.create(TestClusterExtension.class);
  private final TestCluster.Options options;

  public TestClusterExtension() {
    this(TestCluster.options());
  }

  /** For a static field with {@code @RegisterExtension}. */
  public TestClusterExtension(TestCluster.Options options) {
    this.options = options;
  }

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    return parameter.getParameter().getType() == TestCluster.class;
  }

  @Override
  public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
    // The store of the class: its tests share the cluster, and JUnit closes it after the last one.
    ExtensionContext ofClass = context.getTestMethod().isPresent() ? context.getParent().orElse(context) : context;
    return ofClass.getStore(NAMESPACE).getOrComputeIfAbsent(TestCluster.class, key -> new Resource(options), Resource.class).cluster;
  }

  private static final class Resource implements ExtensionContext.Store.CloseableResource {
    private final TestCluster cluster;

    Resource(TestCluster.Options options) {
      try {
        cluster = options.start();
      } catch (java.io.IOException error) {
        throw new java.io.UncheckedIOException(error);
      }
    }

    @Override
    public void close() throws java.io.IOException {
      cluster.close();
    }
  }
}
