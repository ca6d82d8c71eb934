// Package pack starts the programs of a KUBEBUILDER_ASSETS by controller-runtime's envtest, with all of its flags and certificates.
// hack/envtest-pack.sh runs it.
package pack

import (
	"context"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

func TestEnvtestStartsThePack(t *testing.T) {
	for _, start := range []string{"first", "second"} {
		environment := &envtest.Environment{}
		config, err := environment.Start()
		if err != nil {
			t.Fatalf("the %s start: %v", start, err)
		}
		api, err := client.New(config, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}
		if err := api.Create(context.Background(), namespace); err != nil {
			t.Fatalf("the %s start: %v", start, err)
		}
		reader := envtest.User{Name: "reader", Groups: []string{"system:authenticated"}}
		user, err := environment.ControlPlane.AddUser(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		kubectl, err := user.Kubectl()
		if err != nil {
			t.Fatal(err)
		}
		_, words, err := kubectl.Run("get", "namespaces")
		if text := read(words); err == nil || !strings.Contains(text, `User "reader" cannot list resource "namespaces"`) {
			t.Errorf("kubectl of a user without rights ends with %v: %s", err, text)
		}
		admin, err := environment.ControlPlane.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if kubectl, err = admin.Kubectl(); err != nil {
			t.Fatal(err)
		}
		output, words, err := kubectl.Run("get", "namespaces", "-o", "name")
		if text := read(output); err != nil || !strings.Contains(text, "namespace/kept\n") {
			t.Errorf("kubectl says %q, %v: %s", text, err, read(words))
		}
		if err := environment.Stop(); err != nil {
			t.Errorf("the %s stop: %v", start, err)
		}
	}
}

func read(words io.Reader) string {
	text, _ := io.ReadAll(words)
	return string(text)
}
