#!/usr/bin/env bash
# Builds public operators from their published Go modules into .tools/operators, in the form that
# test/e2e/public-operators.test.ts takes: cert-manager and the Prometheus operator, in versions from the time of release
# 1.24. Takes ten minutes and more, so no other script calls it. Usage: build-operators.sh [NAME…]; OUT=DIR sets the folder.
set -euo pipefail
cd "$(dirname "$0")/.."
names=("$@")
[ ${#names[@]} -gt 0 ] || names=(cert-manager prometheus-operator)
out=$(realpath -m "${OUT:-.tools/operators}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# MODULE@VERSION COMMAND…: copies the module into $source and builds its commands into $folder/bin.
build() {
  local module=$1
  shift
  source=$work/$(basename "${module%@*}")
  local published
  published=$(cd "$work" && go mod download -json "$module" | sed -n 's/^\s*"Dir": "\(.*\)",$/\1/p')
  cp -r "$published" "$source"
  chmod -R u+w "$source"
  mkdir -p "$folder/bin"
  (
    cd "$source"
    # The module does not contain parts that are published as separate modules.
    sed -n 's/^\s*\(\S*\) => \.\/.*/\1/p' go.mod | while read -r part; do go mod edit -dropreplace "$part"; done
    # An older version of this library panics when a newer compiler builds it.
    go mod edit -replace github.com/modern-go/reflect2=github.com/modern-go/reflect2@v1.0.2
    # Newer linkers refuse references of old libraries into the runtime without this flag.
    go build -mod=mod -o "$folder/bin/" -ldflags '-s -w -checklinkname=0' "${@/#/./cmd/}"
  )
}

# The beginning of a script that runs several programs until it is stopped, with its functions `own_port` and `start`.
preamble() {
  cat <<'SH'
#!/usr/bin/env bash
set -euo pipefail
cd "$(dirname "$0")"
pids=()
trap 'kill "${pids[@]}" 2>/dev/null; wait' EXIT
trap 'exit 0' TERM INT
# A free port on loopback.
own_port() {
  local port
  while port=$((20000 + RANDOM % 10000)) && (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
  echo "$port"
}
start() {
  "$@" &
  pids+=($!)
}
SH
}

cert_manager() {
  build github.com/cert-manager/cert-manager@v1.8.2 controller webhook cainjector
  mkdir -p "$folder/manifests" "$folder/example"
  # Only names and labels are filled into the templates.
  for file in "$source"/deploy/crds/crd-*.yaml; do
    sed -e '/# Generated labels/d' -e 's/{{ template "webhook.caRef" . }}/cert-manager\/cert-manager-webhook-ca/' \
      -e 's/{{ template "cert-manager.name" . }}\|{{ .Release.Name }}/cert-manager/' "$file" \
      >"$folder/manifests/$(basename "$file")"
  done
  cat >"$folder/manifests/namespaces.yaml" <<'YAML'
apiVersion: v1
kind: Namespace
metadata: { name: cert-manager }
---
apiVersion: v1
kind: Namespace
metadata: { name: shop }
YAML
  # The webhook runs outside of the cluster; everything else is as in deploy/charts.
  for kind in Mutating Validating; do
    path=$([ $kind = Mutating ] && echo mutate || echo validate)
    cat <<YAML
---
apiVersion: admissionregistration.k8s.io/v1
kind: ${kind}WebhookConfiguration
metadata:
  name: cert-manager-webhook
  annotations: { cert-manager.io/inject-ca-from-secret: cert-manager/cert-manager-webhook-ca }
webhooks:
- name: webhook.cert-manager.io
  rules:
  - apiGroups: [cert-manager.io, acme.cert-manager.io]
    apiVersions: [v1]
    operations: [CREATE, UPDATE]
    resources: ["*/*"]
  admissionReviewVersions: [v1]
  matchPolicy: Equivalent
  timeoutSeconds: 10
  failurePolicy: Fail
  sideEffects: None
  clientConfig: { url: "https://localhost:PORT/$path" }
YAML
  done >"$folder/webhooks.yaml"
  { preamble; cat <<'SH'; } >"$folder/operator"
port=$(own_port)
sed "s/PORT/$port/" webhooks.yaml | kubectl apply --server-side -f -
start bin/webhook --kubeconfig="$KUBECONFIG" --secure-port="$port" --healthz-port="$(own_port)" \
  --dynamic-serving-ca-secret-namespace=cert-manager --dynamic-serving-ca-secret-name=cert-manager-webhook-ca \
  --dynamic-serving-dns-names=localhost
start bin/cainjector --kubeconfig="$KUBECONFIG" --leader-election-namespace=cert-manager
start bin/controller --kubeconfig="$KUBECONFIG" --leader-election-namespace=cert-manager \
  --cluster-resource-namespace=cert-manager --metrics-listen-address="127.0.0.1:$(own_port)"
wait -n
SH
  # A self-signed issuer, an authority from it, and a certificate of that authority.
  cat >"$folder/example/certificates.yaml" <<'YAML'
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: { name: self, namespace: shop }
spec: { selfSigned: {} }
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: { name: authority, namespace: shop }
spec:
  isCA: true
  commonName: shop
  secretName: authority
  privateKey: { algorithm: ECDSA, size: 256 }
  issuerRef: { name: self }
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: { name: authority, namespace: shop }
spec: { ca: { secretName: authority } }
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: { name: pages, namespace: shop }
spec:
  dnsNames: [pages.example.com]
  secretName: pages
  issuerRef: { name: authority }
YAML
  cat >"$folder/expect" <<'TEXT'
wait --for=condition=Ready issuer/self certificate/authority issuer/authority certificate/pages -n shop --timeout=100s
get secret pages -n shop
get lease -n cert-manager
TEXT
}

prometheus_operator() {
  build github.com/prometheus-operator/prometheus-operator@v0.58.0 operator admission-webhook
  mkdir -p "$folder/manifests" "$folder/example"
  cp "$source"/example/prometheus-operator-crd-full/*.yaml "$folder/manifests/"
  cat >"$folder/manifests/namespace.yaml" <<'YAML'
apiVersion: v1
kind: Namespace
metadata: { name: monitoring }
YAML
  # As in example/alertmanager-crd-conversion and Documentation/user-guides/webhook.md, at an address of this machine.
  cat >"$folder/conversion.json" <<'JSON'
{ "spec": { "conversion": { "strategy": "Webhook", "webhook": {
  "conversionReviewVersions": ["v1beta1", "v1alpha1"],
  "clientConfig": { "url": "https://localhost:PORT/convert", "caBundle": "CA" } } } } }
JSON
  cat >"$folder/webhooks.yaml" <<'YAML'
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: { name: prometheus-operator }
webhooks:
- name: prometheusrulevalidate.monitoring.coreos.com
  rules:
  - { apiGroups: [monitoring.coreos.com], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [prometheusrules] }
  admissionReviewVersions: [v1, v1beta1]
  failurePolicy: Fail
  sideEffects: None
  clientConfig: { url: "https://localhost:PORT/admission-prometheusrules/validate", caBundle: CA }
YAML
  { preamble; cat <<'SH'; } >"$folder/operator"
port=$(own_port)
tls=$(mktemp -d)
trap 'kill "${pids[@]}" 2>/dev/null; wait; rm -rf "$tls"' EXIT
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$tls/key" -out "$tls/crt" -days 2 \
  -subj /CN=localhost -addext subjectAltName=DNS:localhost 2>/dev/null
start bin/admission-webhook --web.listen-address="127.0.0.1:$port" --web.cert-file="$tls/crt" --web.key-file="$tls/key" \
  --web.client-ca-file=
until (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do sleep 0.1; done
fill() { sed "s/PORT/$port/; s|CA\b|$(base64 -w0 "$tls/crt")|" "$1"; }
fill webhooks.yaml | kubectl apply --server-side -f -
kubectl patch crd alertmanagerconfigs.monitoring.coreos.com --type merge -p "$(fill conversion.json)"
# The operator reads KUBECONFIG itself.
start bin/operator --web.listen-address="127.0.0.1:$(own_port)"
wait -n
SH
  cat >"$folder/example/prometheus.yaml" <<'YAML'
apiVersion: monitoring.coreos.com/v1
kind: Prometheus
metadata: { name: main, namespace: monitoring }
spec: { replicas: 1, serviceMonitorSelector: {}, ruleSelector: {} }
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: { name: shop, namespace: monitoring }
spec: { selector: { matchLabels: { app: shop } }, endpoints: [{ port: web, interval: 30s }] }
---
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: { name: shop, namespace: monitoring }
spec: { groups: [{ name: shop, rules: [{ alert: Down, expr: "up == 0", for: 5m }] }] }
---
apiVersion: monitoring.coreos.com/v1
kind: Alertmanager
metadata: { name: main, namespace: monitoring }
spec: { replicas: 1, alertmanagerConfigSelector: {} }
---
apiVersion: monitoring.coreos.com/v1beta1
kind: AlertmanagerConfig
metadata: { name: shop, namespace: monitoring }
spec:
  route: { receiver: none, matchers: [{ name: team, value: shop, matchType: "=" }] }
  receivers: [{ name: none }]
YAML
  cat >"$folder/expect" <<'TEXT'
get statefulset prometheus-main alertmanager-main -n monitoring
get secret prometheus-main alertmanager-main-generated -n monitoring
get configmap prometheus-main-rulefiles-0 -n monitoring
get alertmanagerconfigs.v1alpha1.monitoring.coreos.com shop -n monitoring
get alertmanagerconfigs.v1beta1.monitoring.coreos.com shop -n monitoring
get pod alertmanager-main-0 prometheus-main-0 -n monitoring
TEXT
}

for name in "${names[@]}"; do
  folder=$out/$name
  rm -rf "$folder"
  "${name//-/_}"
  chmod +x "$folder/operator"
done
echo "OPERATORS=$(printf "$out/%s:" "${names[@]}" | sed 's/:$//')"
