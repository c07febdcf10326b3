{{- define "voiceagent.name" -}}
{{- $whole := contains "voiceagent" .Release.Name | ternary .Release.Name (printf "%s-voiceagent" .Release.Name) -}}
{{ $whole | trunc 47 | trimSuffix "-" }}
{{- end }}

{{- define "voiceagent.selector" -}}
app.kubernetes.io/name: voiceagent
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "voiceagent.labels" -}}
{{ include "voiceagent.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{- end }}

{{- define "voiceagent.image" -}}
{{- $own := printf "%s%s" .Chart.AppVersion (ternary "-gpu" "" .Values.gpu.enabled) -}}
{{ printf "%s:%s" .Values.image.repository (default $own .Values.image.tag) | quote }}
{{- end }}

{{- define "voiceagent.hardened" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}
