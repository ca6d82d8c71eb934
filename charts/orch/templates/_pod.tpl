{{/*
What all pods have in common. A part is a dict: `root`, the name of the `part` in labels, the `program` of its image, its `name`,
and its `values`.
*/}}
{{- define "orch.imageOf" -}}
{{- $all := .root.Values.image -}}
{{- $own := .values.image -}}
{{- $registry := coalesce $own.registry .root.Values.global.imageRegistry $all.registry -}}
{{- $repository := $own.repository | default (printf "%s/%s" $all.repository .program) -}}
{{- with $registry }}{{ . }}/{{ end }}{{ $repository }}
{{- if $own.digest }}@{{ $own.digest }}{{ else }}:{{ coalesce $own.tag $all.tag .root.Chart.AppVersion }}{{ end }}
{{- end -}}

{{- define "orch.image" -}}
image: {{ include "orch.imageOf" . }}
imagePullPolicy: {{ .values.image.pullPolicy | default .root.Values.image.pullPolicy }}
{{- end -}}

{{/* A list of names or of objects with names, as helm charts differ in it. */}}
{{- define "orch.pullSecrets" -}}
{{- $names := list -}}
{{- range concat (.root.Values.global.imagePullSecrets | default list) .root.Values.image.pullSecrets .values.image.pullSecrets (.morePullSecrets | default list) -}}
{{- $names = append $names (ternary . (get (ternary dict . (kindIs "string" .)) "name") (kindIs "string" .)) -}}
{{- end -}}
{{- range uniq $names }}
- name: {{ . }}
{{- end }}
{{- end -}}

{{/* Metadata of the pods of a workload; `checksums` replaces them when a configuration changes. */}}
{{- define "orch.podMetadata" -}}
labels: {{ include "orch.labels" (merge (dict "more" .values.podLabels) .) | nindent 2 }}
{{- $checksums := dict }}
{{- if and .traced .root.Values.tracing.endpoint }}
{{- $_ := set $checksums "checksum/tracing" (include "orch.tracingConfig" .root | sha256sum) }}
{{- end }}
{{- with merge $checksums (.checksums | default dict) .values.podAnnotations .root.Values.commonAnnotations }}
annotations: {{ toYaml . | nindent 2 }}
{{- end }}
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

{{/* Fields, each replaced by one of the same name; null removes it. */}}
{{- define "orch.overridden" -}}
{{- $fields := deepCopy .own -}}
{{- range $name, $value := .by -}}
{{- if kindIs "invalid" $value -}}{{- $_ := unset $fields $name -}}{{- else -}}{{- $_ := set $fields $name $value -}}{{- end -}}
{{- end -}}
{{- with $fields }}{{ toYaml . }}{{ end -}}
{{- end -}}

{{/* A probe of a part's program: `own` is its YAML, and the part's value replaces fields. */}}
{{- define "orch.probe" -}}
{{- with include "orch.overridden" (dict "own" (fromYaml .own) "by" (index .part.values .probe)) }}
{{ $.probe }}: {{ . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "orch.spread" -}}
{{- $selector := dict "matchLabels" (include "orch.selector" . | fromYaml) -}}
{{- $hostname := ternary "orch.io/hostname" "kubernetes.io/hostname" (eq .root.Values.hostDialect "orch") -}}
{{- $usual := list (dict "maxSkew" 1 "topologyKey" $hostname "whenUnsatisfiable" "ScheduleAnyway") -}}
{{- range kindIs "invalid" .values.topologySpreadConstraints | ternary $usual .values.topologySpreadConstraints }}
- {{ merge (dict) . (dict "labelSelector" $selector) | toYaml | nindent 2 | trim }}
{{- end }}
{{- end -}}

{{/* Where the pods of a part run, for all parts, and fields that only the values know. */}}
{{- define "orch.placement" -}}
{{- with .values.affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with include "orch.pullSecrets" . }}
imagePullSecrets: {{ . | nindent 2 }}
{{- end }}
{{- with .values.podSpec }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Fields of an unprivileged pod. */}}
{{- define "orch.podSpec" -}}
automountServiceAccountToken: {{ .usesHostApi | default false }}
enableServiceLinks: false
{{- with include "orch.overridden" (dict "own" (include "orch.podSecurity" . | fromYaml) "by" .values.podSecurityContext) }}
securityContext: {{ . | nindent 2 }}
{{- end }}
{{- include "orch.placement" . }}
{{- range list "nodeSelector" "tolerations" }}
{{- include "orch.field" (dict "part" $ "field" .) }}
{{- end }}
{{- with .values.priorityClassName | default .root.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with include "orch.spread" . }}
topologySpreadConstraints: {{ . | nindent 2 }}
{{- end }}
{{- if not .ownInit }}
{{- with .values.initContainers }}
initContainers: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Fields of a privileged pod on each node, whose place is its own affair. */}}
{{- define "orch.nodePodSpec" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .values.podSecurityContext }}
securityContext: {{ toYaml . | nindent 2 }}
{{- end }}
{{- include "orch.placement" . }}
{{- with .values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .values.initContainers }}
initContainers: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Fields of the container of a part's program; `env` and `security` are the chart's own. */}}
{{- define "orch.container" -}}
{{ include "orch.image" . }}
{{- with concat (.env | default list) .values.extraEnv }}
env: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .values.extraEnvFrom }}
envFrom: {{ toYaml . | nindent 2 }}
{{- end }}
resources: {{ toYaml .values.resources | nindent 2 }}
{{- with include "orch.overridden" (dict "own" (.security | default (include "orch.containerSecurity" . | fromYaml)) "by" .values.securityContext) }}
securityContext: {{ . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "orch.extraVolumeMounts" -}}
{{- with .values.extraVolumeMounts }}{{ toYaml . }}{{- end -}}
{{- end -}}

{{- define "orch.extraVolumes" -}}
{{- with .values.extraVolumes }}{{ toYaml . }}{{- end -}}
{{- end -}}

{{- define "orch.sidecars" -}}
{{- with .values.sidecars }}{{ toYaml . }}{{- end -}}
{{- end -}}
