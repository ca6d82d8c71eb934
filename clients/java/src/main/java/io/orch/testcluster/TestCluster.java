package io.orch.testcluster;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A cluster for tests: API server, controllers and simulated nodes in one process. Ends with {@link #close}, or with this JVM. */
public final class TestCluster implements AutoCloseable {
  private final Process process;
  private final Map<String, Object> facts;

  private TestCluster(Process process, Map<String, Object> facts) {
    this.process = process;
    this.facts = facts;
  }

  /** Starts one with all controllers and no nodes. */
  public static TestCluster start() throws IOException {
    return new Options().start();
  }

  public static Options options() {
    return new Options();
  }

  public String name() {
    return text("name");
  }

  /** URL of the API server. */
  public String url() {
    return text("url");
  }

  /** Path of a client configuration with all rights. */
  public String kubeconfig() {
    return text("kubeconfig");
  }

  /** PEM of the API server's authority. */
  public String ca() {
    return text("ca");
  }

  /** PEM of a client certificate with all rights. */
  public String clientCertificate() {
    return text("clientCertificate");
  }

  /** PEM of its key, PKCS 8. */
  public String clientKey() {
    return text("clientKey");
  }

  /** Variables for programs that use the cluster: KUBECONFIG and others. */
  @SuppressWarnings("unchecked")
  public Map<String, String> env() {
    return (Map<String, String>) (Map<?, ?>) facts.get("env");
  }

  /** Returns when the cluster has ended and its files are removed. Idempotent. */
  @Override
  public void close() throws IOException {
    process.getOutputStream().close();
    try {
      process.waitFor();
    } catch (InterruptedException error) {
      process.destroy();
      Thread.currentThread().interrupt();
    }
  }

  private String text(String name) {
    return String.valueOf(facts.get(name));
  }

  /** What a cluster is started with. */
  public static final class Options {
    private final List<String> flags = new ArrayList<>();
    private String program = System.getenv().getOrDefault("ORCH", "orch");

    private Options() {}

    /** {@code all}, {@code none} or a list such as {@code garbagecollector,namespace}. */
    public Options controllers(String controllers) {
      return flag("--controllers=" + controllers);
    }

    /** Number of simulated nodes. */
    public Options nodes(int nodes) {
      return flag("--nodes=" + nodes);
    }

    /** {@code real}, or {@code manual}: stands still until it is moved. */
    public Options clock(String clock) {
      return flag("--clock=" + clock);
    }

    /** A flag of {@code orch test serve}. */
    public Options flag(String flag) {
      flags.add(flag);
      return this;
    }

    /** Path of orch, in place of the variable ORCH and of the PATH. */
    public Options program(String path) {
      program = path;
      return this;
    }

    /** Throws with the words of the program if it cannot start. */
    public TestCluster start() throws IOException {
      List<String> command = new ArrayList<>(List.of(program, "test", "serve", "--json"));
      command.addAll(flags);
      File words = Files.createTempFile("orch-test", ".log").toFile();
      try {
        Process process = new ProcessBuilder(command).redirectError(words).start();
        BufferedReader output =
            new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        String line = output.readLine();
        if (line != null) return new TestCluster(process, Json.object(line));
        int code = process.waitFor();
        throw new IOException(program + " ended with code " + code + ": " + Files.readString(words.toPath()).trim());
      } catch (InterruptedException error) {
        Thread.currentThread().interrupt();
        throw new IOException(error);
      } finally {
        Files.delete(words.toPath());
      }
    }
  }
}
