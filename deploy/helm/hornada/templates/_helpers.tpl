{{- define "hornada.name" -}}
{{- if contains "hornada" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-hornada" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "hornada.selector" -}}
app.kubernetes.io/name: hornada
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "hornada.labels" -}}
{{ include "hornada.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "hornada.serviceAccount" -}}
{{ if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "hornada.name" .) }}{{ else }}{{ .Values.serviceAccount.name | default "default" }}{{ end }}
{{- end }}

{{- define "hornada.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "hornada.secret" -}}
{{- if .secret.name }}
- name: {{ .variable }}
  valueFrom:
    secretKeyRef: {name: {{ .secret.name | quote }}, key: {{ .secret.key | quote }}}
{{- end }}
{{- end }}

{{- define "hornada.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "hornada.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{/* A deployment of one role. Called with a dict of root, role and values. */}}
{{- define "hornada.deployment" -}}
{{- $root := .root }}
{{- $values := .values }}
{{- $drain := 5 }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "hornada.name" $root }}-{{ .role }}
  labels:
    {{- include "hornada.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
spec:
  {{- if not .scaled }}
  replicas: {{ $values.replicas }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "hornada.selector" $root | nindent 6 }}
      app.kubernetes.io/component: {{ .role }}
  strategy:
    type: RollingUpdate
    rollingUpdate: {maxSurge: 1, maxUnavailable: 0}
  template:
    metadata:
      labels:
        {{- include "hornada.labels" $root | nindent 8 }}
        app.kubernetes.io/component: {{ .role }}
      annotations:
        checksum/config: {{ $root.Values.config | sha256sum }}
        {{- with $values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: {{ include "hornada.serviceAccount" $root }}
      automountServiceAccountToken: false
      {{- with $root.Values.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        {{- include "hornada.podSecurity" $root | nindent 8 }}
      # the time to be taken out of the service, lines, then regular calls, then the last commit
      terminationGracePeriodSeconds: {{ add $drain (mul 2 $root.Values.shutdownGraceSeconds) 15 }}
      containers:
        - name: hornada
          image: {{ include "hornada.image" $root | quote }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          args: [serve, --role, {{ .role }}, --config, /etc/hornada/hornada.toml]
          env:
            - {name: HORNADA_SERVER_HOST, value: "0.0.0.0"}
            - {name: HORNADA_SERVER_PORT, value: "8080"}
            - {name: HORNADA_SERVER_SHUTDOWN_GRACE_S, value: {{ $root.Values.shutdownGraceSeconds | quote }}}
            - {name: HORNADA_STORAGE_MIGRATE, value: "false"}
            - {name: HORNADA_STORAGE_BLOBS, value: {{ required "blobs.url is needed: s3://BUCKET/PREFIX?region=NAME" $root.Values.blobs.url | quote }}}
            {{- with $root.Values.upstream }}
            - {name: HORNADA_UPSTREAM, value: {{ join "," . | quote }}}
            {{- end }}
            {{- include "hornada.secret" (dict "variable" "HORNADA_STORAGE_DATABASE" "secret" $root.Values.secrets.database) | nindent 12 }}
            {{- include "hornada.secret" (dict "variable" "HORNADA_SERVER_OPERATOR_KEY" "secret" $root.Values.secrets.operatorKey) | nindent 12 }}
            {{- include "hornada.secret" (dict "variable" "HORNADA_BOOTSTRAP_KEY" "secret" $root.Values.secrets.bootstrapKey) | nindent 12 }}
            {{- include "hornada.secret" (dict "variable" "HORNADA_UPSTREAM_API_KEY" "secret" $root.Values.secrets.upstreamApiKey) | nindent 12 }}
            {{- with $root.Values.extraEnv }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          {{- with $root.Values.blobs.credentialsSecret }}
          envFrom:
            - secretRef: {name: {{ . | quote }}}
          {{- end }}
          ports:
            - {name: http, containerPort: 8080}
          startupProbe:
            httpGet: {path: /healthz, port: http}
            periodSeconds: 1
            failureThreshold: 60
          livenessProbe:
            httpGet: {path: /healthz, port: http}
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
          readinessProbe:
            httpGet: {path: /readyz, port: http}
            periodSeconds: 5
            timeoutSeconds: 5
            failureThreshold: 2
          lifecycle:
            preStop:
              exec: {command: [sleep, {{ $drain | quote }}]}
          resources:
            {{- toYaml $values.resources | nindent 12 }}
          securityContext:
            {{- include "hornada.containerSecurity" $root | nindent 12 }}
          volumeMounts:
            - {name: config, mountPath: /etc/hornada, readOnly: true}
            - {name: tmp, mountPath: /tmp}
      volumes:
        - name: config
          configMap: {name: {{ include "hornada.name" $root }}}
        - name: tmp
          emptyDir: {}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "hornada.selector" $root | nindent 14 }}
              app.kubernetes.io/component: {{ .role }}
      {{- with $values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end }}

{{- define "hornada.disruptionBudget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "hornada.name" .root }}-{{ .role }}
  labels:
    {{- include "hornada.labels" .root | nindent 4 }}
spec:
  maxUnavailable: {{ .values.disruptionBudget.maxUnavailable }}
  selector:
    matchLabels:
      {{- include "hornada.selector" .root | nindent 6 }}
      app.kubernetes.io/component: {{ .role }}
{{- end }}
