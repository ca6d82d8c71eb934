{{/* Prefix of all object names. */}}
{{- define "orch.name" -}}
{{- $chart := .Values.nameOverride | default .Chart.Name -}}
{{- if .Values.fullnameOverride -}}{{ .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if eq .Release.Name $chart -}}{{ $chart | trunc 40 | trimSuffix "-" }}
{{- else -}}{{ printf "%s-%s" .Release.Name $chart | trunc 40 | trimSuffix "-" }}{{- end -}}
{{- end -}}

{{/* Labels that select the pods of a component; they never change. */}}
{{- define "orch.selector" -}}
app.kubernetes.io/name: {{ .root.Values.nameOverride | default .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end -}}

{{/* Labels of an object: the chart's own win over commonLabels and over `more`. */}}
{{- define "orch.labels" -}}
{{- $own := include "orch.selector" . | fromYaml -}}
{{- $_ := set $own "app.kubernetes.io/version" .root.Chart.AppVersion -}}
{{- $_ := set $own "app.kubernetes.io/managed-by" .root.Release.Service -}}
{{- $_ := set $own "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version) -}}
{{- merge $own (.more | default dict) .root.Values.commonLabels | toYaml -}}
{{- end -}}

{{/* Metadata of an object: `part`, `name`, and additional `labels` and `annotations`. */}}
{{- define "orch.metadata" -}}
name: {{ .name }}
namespace: {{ .part.root.Release.Namespace }}
labels: {{ include "orch.labels" (merge (dict "more" .labels) .part) | nindent 2 }}
{{- with merge (dict) (.annotations | default dict) .part.root.Values.commonAnnotations }}
annotations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Metadata of a workload. */}}
{{- define "orch.workloadMetadata" -}}
{{- include "orch.metadata" (dict "part" . "name" .name "labels" .values.labels "annotations" .values.annotations) -}}
{{- end -}}

{{/* A field of the part, or of the whole chart where the part's own is empty; nothing if both are empty. */}}
{{- define "orch.field" -}}
{{- with index .part.values .field | default (index .part.root.Values .field) }}
{{ $.field }}: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* A value as an option or a variable takes it: a large number has digits, not an exponent. */}}
{{- define "orch.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) -}}{{ int64 . }}{{- else -}}{{ . }}{{- end -}}
{{- end -}}

{{/* Additional options: `prefix` and NAME=VALUE; a list is given as repeated options. */}}
{{- define "orch.options" -}}
{{- range $name, $value := .args }}
{{- range $each := ternary $value (list $value) (kindIs "slice" $value) }}
- {{ printf "%s%s=%s" $.prefix $name (include "orch.text" $each) | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "orch.extraArgs" -}}
{{- include "orch.options" (dict "prefix" "--" "args" .) -}}
{{- end -}}

{{/* Group of the host's API in its dialect: NAME.orch.io or NAME.k8s.io. */}}
{{- define "orch.hostGroup" -}}
{{ .group }}.{{ if eq .root.Values.hostDialect "orch" }}orch.io{{ else }}k8s.io{{ end }}
{{- end -}}

{{/* DNS name of the API server in the host. */}}
{{- define "orch.apiServerHost" -}}
{{ printf "%s-apiserver.%s.svc" (include "orch.name" .) .Release.Namespace }}
{{- end -}}

{{/* URL at which nodes reach the API server. */}}
{{- define "orch.nodesServer" -}}
{{ .Values.nodes.server | default (printf "https://%s:%v" (include "orch.apiServerHost" .) .Values.apiServer.service.port) }}
{{- end -}}

{{- define "orch.etcdService" -}}
{{ include "orch.name" . }}-etcd
{{- end -}}

{{/* DNS names of the members of the chart's own etcd, as a JSON list. */}}
{{- define "orch.etcdNames" -}}
{{- $names := list -}}
{{- range $i := until (int .Values.etcd.replicas) -}}
{{- $names = append $names (printf "%s-%d.%s.%s.svc" (include "orch.etcdService" $) $i (include "orch.etcdService" $) $.Release.Namespace) -}}
{{- end -}}
{{ $names | toJson }}
{{- end -}}

{{- define "orch.etcdEndpoints" -}}
{{- if .Values.etcd.endpoints -}}
{{ join "," .Values.etcd.endpoints }}
{{- else -}}
{{- $urls := list -}}
{{- range include "orch.etcdNames" . | fromJsonArray -}}{{- $urls = append $urls (printf "https://%s:2379" .) -}}{{- end -}}
{{ join "," $urls }}
{{- end -}}
{{- end -}}

{{/* Tracing configuration, in the dialect of the hosted control plane. */}}
{{- define "orch.tracingConfig" -}}
apiVersion: apiserver.config.{{ if eq .Values.dialect "orch" }}orch.io{{ else }}k8s.io{{ end }}/v1alpha1
kind: TracingConfiguration
endpoint: {{ .Values.tracing.endpoint | quote }}
samplingRatePerMillion: {{ int .Values.tracing.samplingRatePerMillion }}
{{- end -}}

{{/* The parts of a pod that pass the tracing configuration to its program. */}}
{{- define "orch.tracingMount" -}}
{{- if .Values.tracing.endpoint -}}
- { name: tracing, mountPath: /tracing, readOnly: true }
{{- end -}}
{{- end -}}

{{- define "orch.tracingVolume" -}}
{{- if .Values.tracing.endpoint -}}
- name: tracing
  configMap: { name: {{ include "orch.name" . }}-tracing }
{{- end -}}
{{- end -}}

{{/* First address of an IPv4 range, which is that of the API's own Service: 10.96.0.1 for 10.96.0.0/16. */}}
{{- define "orch.firstAddress" -}}
{{- $octets := splitList "." (first (splitList "/" .)) -}}
{{ printf "%s.%s.%s.%d" (index $octets 0) (index $octets 1) (index $octets 2) (add1 (int (index $octets 3))) }}
{{- end -}}

{{/* Disruption budget of a part with several replicas. */}}
{{- define "orch.disruptionBudget" -}}
{{- if and .root.Values.podDisruptionBudget.enabled (gt (int .values.replicas) 1) }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{ include "orch.metadata" (dict "part" . "name" .name) | nindent 2 }}
spec:
  maxUnavailable: 1
  selector: { matchLabels: {{ include "orch.selector" . | fromYaml | toJson }} }
{{- end }}
{{- end -}}

{{/* Spec of a Service that clients outside of the chart reach: its type and what only some types have. */}}
{{- define "orch.serviceFields" -}}
type: {{ .type }}
{{- with .clusterIP }}
clusterIP: {{ . }}
{{- end }}
{{- with .externalIPs }}
externalIPs: {{ toYaml . | nindent 2 }}
{{- end }}
{{- if ne .type "ClusterIP" }}
{{- with .externalTrafficPolicy }}
externalTrafficPolicy: {{ . }}
{{- end }}
{{- end }}
{{- if eq .type "LoadBalancer" }}
{{- with .loadBalancerIP }}
loadBalancerIP: {{ . }}
{{- end }}
{{- with .loadBalancerClass }}
loadBalancerClass: {{ . }}
{{- end }}
{{- with .loadBalancerSourceRanges }}
loadBalancerSourceRanges: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The part of etcd's configuration file that is the same for all members. */}}
{{- define "orch.etcdConfig" -}}
{{- $tls := dict "cert-file" "/pki/etcd.crt" "key-file" "/pki/etcd.key" "client-cert-auth" true "trusted-ca-file" "/pki/etcd-ca.crt" -}}
{{- $config := dict
  "listen-client-urls" "https://0.0.0.0:2379"
  "listen-peer-urls" "https://0.0.0.0:2380"
  "listen-metrics-urls" "http://0.0.0.0:2381"
  "initial-cluster-token" (printf "%s-%s" .Release.Namespace (include "orch.etcdService" .))
  "client-transport-security" $tls
  "peer-transport-security" $tls
  "quota-backend-bytes" (int64 .Values.etcd.quotaBytes)
  "snapshot-count" 10000
  "logger" "zap" -}}
{{- range $name, $value := .Values.etcd.config -}}
{{- $_ := set $config $name (ternary (include "orch.text" $value | int64) $value (kindIs "float64" $value)) -}}
{{- end -}}
{{ toYaml $config }}
{{- end -}}

{{/* Annotation of etcd's StatefulSet: the backup that was restored last. */}}
{{- define "orch.restoredAnnotation" -}}
charts.orch.io/restored-backup
{{- end -}}
