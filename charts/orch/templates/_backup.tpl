{{/* Where backups are, as the programs take it. */}}
{{- define "orch.backupPlace" -}}
{{- if .Values.backup.s3.bucket -}}
s3://{{ .Values.backup.s3.bucket }}/{{ .Values.backup.s3.prefix | default (printf "%s/%s" .Release.Namespace (include "orch.name" .)) }}
{{- else -}}
/backups
{{- end -}}
{{- end -}}

{{- define "orch.backupArgs" -}}
{{- with .Values.backup.s3 -}}
{{- if .bucket -}}
{{- with .endpoint }}
- --s3-endpoint={{ . }}
{{- end }}
{{- with .region }}
- --s3-region={{ . }}
{{- end }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Credentials for the bucket, as a JSON list. */}}
{{- define "orch.backupEnv" -}}
{{- $env := list -}}
{{- with .Values.backup.s3 -}}
{{- if .bucket -}}
{{- $secret := required "backup.s3.secret is needed with backup.s3.bucket" .secret -}}
{{- range list "AWS_ACCESS_KEY_ID" "AWS_SECRET_ACCESS_KEY" "AWS_SESSION_TOKEN" -}}
{{- $key := dict "name" $secret "key" . "optional" (eq . "AWS_SESSION_TOKEN") -}}
{{- $env = append $env (dict "name" . "valueFrom" (dict "secretKeyRef" $key)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{ $env | toJson }}
{{- end -}}

{{- define "orch.backupClaim" -}}
{{ .Values.backup.volume.existingClaim | default (printf "%s-backup" (include "orch.name" .)) }}
{{- end -}}

{{- define "orch.backupMount" -}}
{{- if not .Values.backup.s3.bucket -}}
- name: backups
  mountPath: /backups
  {{- with .Values.backup.volume.subPath }}
  subPath: {{ . }}
  {{- end }}
{{- end -}}
{{- end -}}

{{- define "orch.backupVolume" -}}
{{- if not .Values.backup.s3.bucket -}}
- name: backups
  persistentVolumeClaim: { claimName: {{ include "orch.backupClaim" . }} }
{{- end -}}
{{- end -}}
