// Package testcluster starts clusters for tests: API server, controllers and simulated nodes in one process. It depends on no
// version of client-go: a Cluster has what a rest.Config needs.
package testcluster

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// Options of a cluster; the zero value runs all controllers and no nodes.
type Options struct {
	// Controllers is "all", "none" or a list such as "garbagecollector,namespace".
	Controllers string
	// Nodes is the number of simulated nodes.
	Nodes int
	// Dialect is "kubernetes" if empty, or "orch".
	Dialect string
	// Clock is "real" if empty; a "manual" one stands still until it is moved.
	Clock string
	// Time at which a manual clock starts, RFC 3339.
	Time string
	// PodRules is the path of a file of rules by which simulated pods behave.
	PodRules string
	// FeatureGates of all daemons.
	FeatureGates map[string]bool
	// Flags are further flags of `orch test serve`.
	Flags []string
	// Program is the path of orch; the variable ORCH, or orch of the PATH, if empty.
	Program string
}

// Cluster is a running cluster.
type Cluster struct {
	Name string `json:"name"`
	PID  int    `json:"pid"`
	// Host is the URL of the API server: Host of a rest.Config.
	Host string `json:"url"`
	// Kubeconfig is the path of a client configuration with all rights.
	Kubeconfig string `json:"kubeconfig"`
	// CAData, CertData and KeyData are PEM: the fields of a rest.TLSClientConfig.
	CAData   string   `json:"ca"`
	CertData string   `json:"clientCertificate"`
	KeyData  string   `json:"clientKey"`
	Dialect  string   `json:"dialect"`
	Nodes    []string `json:"nodes"`
	// Env has variables for programs that use the cluster: KUBECONFIG and others.
	Env map[string]string `json:"env"`

	command *exec.Cmd
	input   io.Closer
}

// Start starts a cluster that ends with the test, and fails the test if it cannot start.
func Start(t testing.TB, options Options) *Cluster {
	t.Helper()
	cluster, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Errorf("the test cluster: %v", err)
		}
	})
	return cluster
}

// New starts a cluster, for TestMain: it ends with Stop, or with this process.
func New(options Options) (*Cluster, error) {
	program := options.Program
	if program == "" {
		program = os.Getenv("ORCH")
	}
	if program == "" {
		program = "orch"
	}
	command := exec.Command(program, append([]string{"test", "serve", "--json"}, options.flags()...)...)
	var words bytes.Buffer
	command.Stderr = &words
	input, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	line, readErr := bufio.NewReader(output).ReadBytes('\n')
	if readErr != nil {
		_ = input.Close()
		err := command.Wait()
		return nil, fmt.Errorf("%s: %v: %s", program, err, strings.TrimSpace(words.String()))
	}
	cluster := &Cluster{command: command, input: input}
	if err := json.Unmarshal(line, cluster); err != nil {
		_ = cluster.Stop()
		return nil, err
	}
	return cluster, nil
}

// Stop returns when the cluster has ended and its files are removed.
func (c *Cluster) Stop() error {
	_ = c.input.Close()
	return c.command.Wait()
}

func (o Options) flags() []string {
	var flags []string
	add := func(name, value string) {
		if value != "" {
			flags = append(flags, "--"+name+"="+value)
		}
	}
	add("controllers", o.Controllers)
	add("dialect", o.Dialect)
	add("clock", o.Clock)
	add("time", o.Time)
	add("pod-rules", o.PodRules)
	if o.Nodes > 0 {
		add("nodes", strconv.Itoa(o.Nodes))
	}
	for name, on := range o.FeatureGates {
		add("feature-gates", name+"="+strconv.FormatBool(on))
	}
	return append(flags, o.Flags...)
}
