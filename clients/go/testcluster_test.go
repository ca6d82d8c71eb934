package testcluster

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"strings"
	"testing"
)

func TestAClusterAnswers(t *testing.T) {
	cluster := Start(t, Options{Controllers: "none"})
	pair, err := tls.X509KeyPair([]byte(cluster.CertData), []byte(cluster.KeyData))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(cluster.CAData))
	client := http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}},
	}}
	defer client.CloseIdleConnections()
	response, err := client.Get(cluster.Host + "/api/v1/namespaces/default")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("the API server answers with %d", response.StatusCode)
	}
	if cluster.Env["KUBECONFIG"] != cluster.Kubeconfig {
		t.Errorf("KUBECONFIG is %q", cluster.Env["KUBECONFIG"])
	}
}

func TestNothingIsLeftAfterStop(t *testing.T) {
	cluster, err := New(Options{Controllers: "none"})
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(cluster.Kubeconfig); !os.IsNotExist(err) {
		t.Errorf("%s is left", cluster.Kubeconfig)
	}
}

func TestAStartThatFailsTellsWhy(t *testing.T) {
	_, err := New(Options{Controllers: "nonsense"})
	if err == nil || !strings.Contains(err.Error(), `unknown controller "nonsense"`) {
		t.Errorf("the error is %v", err)
	}
}
