{{- define "evenhand.environment" -}}
- name: DATABASE_URL_FILE
  value: /run/secrets/evenhand/database-url
- name: EVENHAND_SECRET_KEY_FILE
  value: /run/secrets/evenhand/secret-key
{{- range $name, $value := .Values.environment }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}
{{- define "evenhand.hardened" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}
{{- define "evenhand.pod" -}}
runAsNonRoot: true
runAsUser: 10001
fsGroup: 10001
seccompProfile:
  type: RuntimeDefault
{{- end }}
