import io.orch.testcluster.TestCluster;
import java.io.ByteArrayInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** Reads a namespace with nothing but the JDK; client libraries read the file of {@code kubeconfig()}. */
public final class Namespaces {
  public static void main(String[] args) throws Exception {
    Path kubeconfig;
    try (TestCluster cluster = TestCluster.options().controllers("none").start()) {
      kubeconfig = Path.of(cluster.kubeconfig());
      HttpClient client = HttpClient.newBuilder().sslContext(contextOf(cluster)).build();
      HttpRequest request = HttpRequest.newBuilder(URI.create(cluster.url() + "/api/v1/namespaces/default")).build();
      System.out.println(client.send(request, HttpResponse.BodyHandlers.ofString()).statusCode());
    }
    System.out.println(Files.exists(kubeconfig) ? "files are left" : "nothing is left");
  }

  private static SSLContext contextOf(TestCluster cluster) throws Exception {
    KeyStore keys = KeyStore.getInstance("PKCS12");
    keys.load(null, null);
    keys.setKeyEntry("client", keyOf(cluster.clientKey()), new char[0], new Certificate[] {certificateOf(cluster.clientCertificate())});
    keys.setCertificateEntry("ca", certificateOf(cluster.ca()));
    KeyManagerFactory own = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    own.init(keys, new char[0]);
    TrustManagerFactory others = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    others.init(keys);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(own.getKeyManagers(), others.getTrustManagers(), null);
    return context;
  }

  private static Certificate certificateOf(String pem) throws Exception {
    return CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(pem.getBytes(StandardCharsets.US_ASCII)));
  }

  private static PrivateKey keyOf(String pem) throws Exception {
    String body = pem.replaceAll("-----[A-Z ]+-----|\\s", "");
    return KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(Base64.getDecoder().decode(body)));
  }
}
