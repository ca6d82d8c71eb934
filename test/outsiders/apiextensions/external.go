// Goes into the integration tests of k8s.io/apiextensions-apiserver in the place of their own server: each test gets a
// process of the program that OUTSIDERS_APISERVER names, with a prefix of its own in the etcd of the tests.
package fixtures

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/google/uuid"
	"k8s.io/apiextensions-apiserver/pkg/cmd/server/options"
	servertesting "k8s.io/apiextensions-apiserver/pkg/cmd/server/testing"
	"k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/rest"
)

const (
	token        = "administrator"
	startTimeout = time.Minute
)

// StartDefaultServer returns what ends the server, how to reach it, and where its objects are.
func StartDefaultServer(t servertesting.Logger, flags ...string) (func(), *rest.Config, *options.CustomResourceDefinitionsServerOptions, error) {
	folder, err := os.MkdirTemp("", "outsiders-")
	if err != nil {
		return nil, nil, nil, err
	}
	tokens := filepath.Join(folder, "tokens.csv")
	if err := os.WriteFile(tokens, []byte(token+",admin,1,system:masters\n"), 0o600); err != nil {
		return nil, nil, nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, nil, nil, err
	}
	prefix := uuid.New().String()
	command := exec.Command(os.Getenv("OUTSIDERS_APISERVER"), append([]string{
		"--etcd-prefix=" + prefix,
		"--etcd-servers=" + strings.Join(IntegrationEtcdServers(), ","),
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port),
		"--cert-dir=" + folder,
		"--token-auth-file=" + tokens,
		"--authorization-mode=RBAC",
		"--disable-admission-plugins=NamespaceLifecycle,MutatingAdmissionWebhook,ValidatingAdmissionWebhook",
		"--feature-gates=" + changedGates(),
	}, flags...)...)
	log, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		return nil, nil, nil, err
	}
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		return nil, nil, nil, err
	}
	exited := make(chan struct{})
	go func() {
		_ = command.Wait()
		close(exited)
	}()
	end := func() {
		_ = command.Process.Kill()
		<-exited
		_ = log.Close()
		_ = os.RemoveAll(folder)
	}
	address := fmt.Sprintf("https://127.0.0.1:%d", port)
	if err := waitUntilReady(address, exited); err != nil {
		output, _ := os.ReadFile(log.Name())
		end()
		return nil, nil, nil, fmt.Errorf("%w: %s", err, output)
	}
	serverOptions := options.NewCustomResourceDefinitionsServerOptions(os.Stdout, os.Stderr)
	storage := &serverOptions.RecommendedOptions.Etcd.StorageConfig
	storage.Prefix = prefix
	storage.Transport.ServerList = IntegrationEtcdServers()
	config := &rest.Config{
		Host:            address,
		BearerToken:     token,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true},
		QPS:             1000,
		Burst:           1000,
	}
	return end, config, serverOptions, nil
}

// changedGates are those that the test has set otherwise than they are.
func changedGates() string {
	var changed []string
	for name, spec := range feature.DefaultMutableFeatureGate.GetAll() {
		if strings.HasPrefix(string(name), "All") {
			continue
		}
		if enabled := feature.DefaultFeatureGate.Enabled(name); enabled != spec.Default {
			changed = append(changed, fmt.Sprintf("%s=%t", name, enabled))
		}
	}
	sort.Strings(changed)
	return strings.Join(changed, ",")
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

func waitUntilReady(address string, exited <-chan struct{}) error {
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
	}}
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); {
		select {
		case <-exited:
			return fmt.Errorf("the server ended before it was ready")
		case <-time.After(50 * time.Millisecond):
		}
		request, err := http.NewRequest(http.MethodGet, address+"/readyz", nil)
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer "+token)
		response, err := client.Do(request)
		if err != nil {
			continue
		}
		_ = response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return nil
		}
	}
	return fmt.Errorf("the server is not ready after %s", startTimeout)
}
