/** Kustomizations of all features, by the paths of their files. */
const web = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {owner: jane}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      serviceAccountName: runner
      initContainers:
      - {name: first, image: "registry.example.com:5000/tools/init"}
      containers:
      - name: main
        image: nginx:1.20
        args: ["--name=$(NAME)", "--port", "$(PORT)"]
        env: [{name: A, value: "1"}, {name: B, valueFrom: {configMapKeyRef: {name: settings, key: b}}}]
        ports: [{containerPort: 80}, {containerPort: 443, protocol: TCP}]
      - {name: helper, image: "helper@sha256:0123"}
      volumes:
      - {name: config, configMap: {name: settings}}
      - {name: keys, secret: {secretName: keys}}
`;

const others = `apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{port: 80, targetPort: 8080}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: runner}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: readers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: ServiceAccount, name: runner}, {kind: ServiceAccount, name: default}]
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: odd}
spec: {parts: [{name: a, size: 1}], template: {spec: {containers: [{name: x, image: nginx}]}}}
`;

const base = 'resources: [web.yaml, others.yaml]\nconfigMapGenerator: [{name: settings, literals: [b=2]}]\n';
const sent = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: sent}\ndata: {a: b}\n';

export const kustomizations: Readonly<Record<string, string>> = {
  'k/all/kustomization.yaml': base,
  'k/all/web.yaml': web,
  'k/all/others.yaml': others,
  'k/base/kustomization.yaml': 'resources: [sent.yaml]\n',
  'k/base/sent.yaml': sent,
  'k/production/kustomization.yml': `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
bases: [../all]
namespace: shop
namePrefix: prod-
nameSuffix: -v2
commonLabels: {stage: production}
labels:
- {pairs: {team: red}}
- {pairs: {tier: front}, includeSelectors: true}
commonAnnotations: {note: "a: b"}
images:
- {name: nginx, newTag: "1.25"}
- {name: helper, newName: registry.example.com/helper, digest: "sha256:4567"}
- {name: "registry.example.com:5000/tools/init", newName: init, newTag: v1}
replicas: [{name: web, count: 5}]
`,
  'k/patched/kustomization.yaml': `resources: [../all]
patchesStrategicMerge:
- patch.yaml
- |-
  apiVersion: v1
  kind: Service
  metadata: {name: web}
  spec: {ports: [{port: 443, name: https}]}
patchesJson6902:
- target: {group: apps, version: v1, kind: Deployment, name: web}
  patch: '[{"op": "add", "path": "/spec/template/spec/containers/1/args/-", "value": "--more"}]'
patches:
- patch: '{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "runner"}, "$patch": "delete"}'
- target: {kind: "Role.*"}
  patch: |-
    - op: add
      path: /metadata/labels
      value: {patched: "yes"}
- path: widget.yaml
  target: {kind: Widget, name: o.d}
- target: {kind: HorizontalPodAutoscaler}
  options: {allowNameChange: true}
  patch: |-
    apiVersion: autoscaling/v2
    kind: HorizontalPodAutoscaler
    metadata: {name: renamed}
    spec: {minReplicas: 2, maxReplicas: null}
`,
  'k/patched/patch.yaml': `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations: {owner: null, added: "1"}
spec:
  template:
    spec:
      containers:
      - name: extra
        image: busybox
      - name: main
        env:
        - {name: C, value: "3"}
        - {name: A, $patch: delete}
        ports: [{containerPort: 8443}]
      - name: helper
        $patch: delete
      volumes:
      - $patch: replace
      - {name: data, emptyDir: {}}
`,
  'k/patched/widget.yaml': `apiVersion: example.com/v1
kind: Widget
metadata: {name: any}
spec: {parts: [{name: b}], color: blue}
`,
  'k/generated/kustomization.yaml': `generatorOptions:
  labels: {made: here}
  annotations: {by: hand}
configMapGenerator:
- {name: literals, literals: [a=b, 'c="quoted"', "d='1'", e=]}
- {name: files, files: [site.html, other=site.html]}
- {name: variables, envs: [values.env], options: {disableNameSuffixHash: true, immutable: true}}
- {name: empty}
secretGenerator:
- {name: login, literals: [user=jane, password=secret]}
- {name: long, files: [site.html], type: example.com/long, options: {labels: {made: there}}}
`,
  'k/generated/site.html': `<html>\n<p>${'word '.repeat(30)}&amp;</p>\n</html>\n`,
  'k/generated/values.env': '# comment\nA=1\n\nB=two words = 3\n',
  'k/replaced/kustomization.yaml': `resources: [../all]
vars:
- {name: NAME, objref: {apiVersion: v1, kind: Service, name: web}}
- {name: PORT, objref: {apiVersion: v1, kind: Service, name: web}, fieldref: {fieldPath: "spec.ports[0].port"}}
namePrefix: new-
replacements:
- source: {kind: Service, name: web, fieldPath: metadata.name}
  targets:
  - select: {kind: Deployment}
    fieldPaths: ["spec.template.spec.containers.[name=main].env.[name=A].value"]
  - select: {kind: Widget}
    fieldPaths: [metadata.annotations.copied]
    options: {create: true}
- source: {kind: HorizontalPodAutoscaler, fieldPath: spec.maxReplicas}
  targets:
  - select: {kind: Deployment}
    fieldPaths: [spec.replicas]
    options: {create: true}
- source: {kind: Deployment, fieldPath: "spec.template.spec.containers.0.image", options: {delimiter: ":", index: 1}}
  targets:
  - select: {kind: Service}
    fieldPaths: ["metadata.labels.version"]
    options: {create: true}
`,
  'k/composed/kustomization.yaml': 'resources: [../all]\ncomponents: [../component]\nnamePrefix: c-\n',
  'k/component/kustomization.yaml': `apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
configMapGenerator: [{name: settings, behavior: merge, literals: [c=3]}]
secretGenerator: [{name: keys, literals: [k=v]}]
patches:
- target: {kind: Deployment}
  patch: |-
    - {op: replace, path: /spec/template/spec/containers/0/image, value: "nginx:2"}
`,
  'k/renamed/kustomization.yaml': 'resources: [../production]\nnamePrefix: again-\n',
  'k/nothing/kustomization.yaml': '',
  'k/none/readme': 'no kustomization\n',
  'k/unknown/kustomization.yaml': 'resource: [a.yaml]\n',
  'k/outside/kustomization.yaml': 'resources: [../base/sent.yaml]\n',
  'k/twice/kustomization.yaml': 'resources: [a.yaml, b.yaml]\n',
  'k/twice/a.yaml': sent,
  'k/twice/b.yaml': sent,
  'k/unresolved/kustomization.yaml': `resources: [a.yaml]
patches: [{patch: '{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "gone"}}'}]
`,
  'k/unresolved/a.yaml': sent,
};
