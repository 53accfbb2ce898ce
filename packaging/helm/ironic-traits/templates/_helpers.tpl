{{- define "ironic-traits.name" -}}
{{ ternary .Release.Name (printf "%s-ironic-traits" .Release.Name) (contains "ironic-traits" .Release.Name) | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "ironic-traits.image" -}}
{{ .Values.image | default (printf "localhost/ironic-traits:%s" .Chart.AppVersion) | quote }}
{{- end }}

{{- define "ironic-traits.labels" -}}
app.kubernetes.io/name: ironic-traits
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* The names in clouds.yaml, in their order. */ -}}
{{- define "ironic-traits.clouds" -}}
{{- $read := fromYaml .Values.clouds }}
{{- if $read.Error }}{{ fail (printf "clouds is not YAML: %s" $read.Error) }}{{ end }}
{{- if and .Values.clouds (not $read.clouds) }}{{ fail "clouds has no clouds: pass the content of clouds.yaml" }}{{ end }}
{{- keys ($read.clouds | default dict) | sortAlpha | join "," }}
{{- end }}

{{- /* The configuration. oslo.config replaces $NAME. */ -}}
{{- define "ironic-traits.conf" -}}
[DEFAULT]
workers = {{ .Values.processes }}
start_worker = false
[database]
connection = {{ .Values.database | replace "$" "$$" }}
[api]
auth_strategy = {{ .Values.auth.strategy }}
noauth_beyond_loopback = {{ eq .Values.auth.strategy "noauth" }}
[mirror]
start_mirror = false
clouds = {{ include "ironic-traits.clouds" . }}
{{ .Values.config }}
{{- end }}

{{- define "ironic-traits.security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "ironic-traits.mounts" -}}
- {name: configuration, mountPath: /etc/ironic-traits, readOnly: true}
- {name: clouds, mountPath: /etc/openstack, readOnly: true}
- {name: state, mountPath: /var/lib/ironic-traits}
- {name: tmp, mountPath: /tmp}
{{- end }}
