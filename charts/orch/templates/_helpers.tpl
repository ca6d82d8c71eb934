{{/* Prefix of all object names. */}}
{{- define "orch.name" -}}
{{- if eq .Release.Name "orch" -}}orch{{- else -}}{{ printf "%s-orch" .Release.Name | trunc 40 | trimSuffix "-" }}{{- end -}}
{{- end -}}

{{- define "orch.image" -}}
{{- $image := .root.Values.image -}}
{{ printf "%s/%s/%s:%s" $image.registry $image.repository .program ($image.tag | default .root.Chart.AppVersion) }}
{{- end -}}

{{/* Labels that select the pods of a component; they never change. */}}
{{- define "orch.selector" -}}
app.kubernetes.io/name: orch
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end -}}

{{- define "orch.labels" -}}
{{ include "orch.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
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

{{/* Additional options, as --NAME=VALUE. */}}
{{- define "orch.extraArgs" -}}
{{- range $name, $value := . }}
- {{ printf "--%s=%v" $name $value | quote }}
{{- end }}
{{- end -}}

{{/* Tracing configuration, in the dialect of the hosted control plane. */}}
{{- define "orch.tracingConfig" -}}
apiVersion: apiserver.config.{{ if eq .Values.dialect "orch" }}orch.io{{ else }}k8s.io{{ end }}/v1alpha1
kind: TracingConfiguration
endpoint: {{ .Values.tracing.endpoint | quote }}
samplingRatePerMillion: {{ int .Values.tracing.samplingRatePerMillion }}
{{- end -}}

{{/* The parts of a pod that pass the tracing configuration to its program. */}}
{{- define "orch.tracingAnnotations" -}}
{{- if .Values.tracing.endpoint -}}
annotations: { checksum/tracing: {{ include "orch.tracingConfig" . | sha256sum }} }
{{- end -}}
{{- end -}}

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

{{/* The restricted level of pod security. */}}
{{- define "orch.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "orch.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{/* Fields that the pods of all components share. */}}
{{- define "orch.podSpec" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
securityContext: {{ include "orch.podSecurity" .root | nindent 2 }}
{{- with .root.Values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: {{ if eq .root.Values.hostDialect "orch" }}orch.io{{ else }}kubernetes.io{{ end }}/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: { matchLabels: {{ include "orch.selector" . | fromYaml | toJson }} }
{{- end -}}

{{/* First address of an IPv4 range, which is that of the API's own Service: 10.96.0.1 for 10.96.0.0/16. */}}
{{- define "orch.firstAddress" -}}
{{- $octets := splitList "." (first (splitList "/" .)) -}}
{{ printf "%s.%s.%s.%d" (index $octets 0) (index $octets 1) (index $octets 2) (add1 (int (index $octets 3))) }}
{{- end -}}
