/** A chart with the common features of charts, by the paths of its files. Its Jobs end at once on simulated nodes. */

const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: widgets.example.com }
spec:
  group: example.com
  scope: Namespaced
  names: { plural: widgets, singular: widget, kind: Widget }
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              required: [text]
              properties:
                text: { type: string }
                count: { type: integer, default: 2 }
`;

/** Ends with the exit code shortly after its start. */
const job = (name: string, annotations: string, exitCode = '"0"') => `apiVersion: batch/v1
kind: Job
metadata:
  name: ${name}
  annotations:
${annotations.replace(/^/gm, '    ')}
spec:
  backoffLimit: 0
  template:
    metadata:
      annotations:
        sim.kubernetes.io/exit-after: 10ms
        sim.kubernetes.io/exit-code: ${exitCode}
    spec:
      restartPolicy: Never
      serviceAccountName: {{ .Release.Name }}-hooks
      containers: [{ name: main, image: example.com/hook:1 }]
`;

export const usualChart: Readonly<Record<string, string>> = {
  'Chart.yaml': 'apiVersion: v2\nname: usual\nversion: 1.2.3\nappVersion: "4.5"\nkubeVersion: ">=1.22.0-0"\n',
  'values.yaml': 'replicas: 2\nfails: false\n',
  'crds/widgets.yaml': definition,
  'templates/_helpers.tpl': `{{- define "usual.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}
`,
  'templates/hooks.yaml': `apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .Release.Name }}-hooks
  annotations: { helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-weight: "-10", helm.sh/hook-delete-policy: before-hook-creation }
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-order
  annotations: { helm.sh/hook: pre-install, helm.sh/hook-weight: "-7" }
data: { account: there }
---
${job('{{ .Release.Name }}-before', 'helm.sh/hook: pre-install,pre-upgrade\nhelm.sh/hook-weight: "-5"\nhelm.sh/hook-delete-policy: before-hook-creation,hook-succeeded')}---
${job('{{ .Release.Name }}-after', 'helm.sh/hook: post-install,post-upgrade\nhelm.sh/hook-delete-policy: before-hook-creation,hook-succeeded,hook-failed', '{{ ternary "1" "0" .Values.fails | quote }}')}---
${job('{{ .Release.Name }}-end', 'helm.sh/hook: pre-delete\nhelm.sh/hook-delete-policy: before-hook-creation,hook-succeeded')}`,
  'templates/app.yaml': `apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
  labels: {{ include "usual.labels" . | nindent 4 }}
spec:
  replicas: {{ .Values.replicas }}
  selector: { matchLabels: {{ include "usual.labels" . | fromYaml | toJson }} }
  template:
    metadata:
      labels: {{ include "usual.labels" . | nindent 8 }}
      annotations: { checksum/config: {{ include (print $.Template.BasePath "/kept.yaml") . | sha256sum }} }
    spec:
      containers: [{ name: main, image: "example.com/app:{{ .Chart.AppVersion }}", ports: [{ name: http, containerPort: 8080 }] }]
---
apiVersion: v1
kind: Service
metadata: { name: {{ .Release.Name }} }
spec:
  selector: {{ include "usual.labels" . | nindent 4 }}
  ports: [{ name: http, port: 80, targetPort: http }]
---
apiVersion: v1
kind: Secret
metadata: { name: {{ .Release.Name }} }
data:
  {{- with lookup "v1" "Secret" .Release.Namespace .Release.Name }}
  password: {{ .data.password }}
  {{- else }}
  password: {{ randAlphaNum 20 | b64enc }}
  {{- end }}
{{- if .Capabilities.APIVersions.Has "policy/v1/PodDisruptionBudget" }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: { name: {{ .Release.Name }} }
spec:
  maxUnavailable: 1
  selector: { matchLabels: {{ include "usual.labels" . | fromYaml | toJson }} }
{{- end }}
---
apiVersion: example.com/v1
kind: Widget
metadata: { name: {{ .Release.Name }} }
spec: { text: hello }
`,
  'templates/kept.yaml': `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-kept
  annotations: { helm.sh/resource-policy: keep }
data: { of: {{ .Chart.Name }} }
`,
  'templates/tests/answers.yaml': `apiVersion: v1
kind: Pod
metadata:
  name: {{ .Release.Name }}-test
  annotations:
    helm.sh/hook: test
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
    sim.kubernetes.io/exit-after: 10ms
spec:
  restartPolicy: Never
  containers: [{ name: main, image: example.com/test:1 }]
`,
  'templates/NOTES.txt': `Say hello to {{ .Release.Name }}, of which there are {{ .Values.replicas }}.
{{- with lookup "v1" "Service" .Release.Namespace .Release.Name }}
It is reached at {{ .spec.clusterIP }}.
{{- end }}
`,
};
