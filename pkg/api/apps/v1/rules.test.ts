import t from 'tap';
import { controllerRevisionStrategy } from '#api/apps/v1/controllerrevision/strategy.js';
import { daemonSetStrategy } from '#api/apps/v1/daemonset/strategy.js';
import { deploymentStrategy } from '#api/apps/v1/deployment/strategy.js';
import { replicaSetStrategy } from '#api/apps/v1/replicaset/strategy.js';
import { statefulSetStrategy } from '#api/apps/v1/statefulset/strategy.js';
import { checkRules, checkStatusRules, checkUpdateRules, type RuleRow } from '#api/testing/rule-table.js';
import type { Draft } from '#api/testing/strategy-table.js';

t.test('deployments are validated as in 1.24', (t) => {
  const base: Draft = {
    metadata: { name: 'd', namespace: 'ns' },
    spec: {
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    },
  };
  const create: RuleRow[] = [
    [
      'metadata.name',
      'A',
      `metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    ['metadata.name', undefined, 'metadata.name: Required value: name or generateName is required'],
    [
      'metadata.namespace',
      'A_b',
      `metadata.namespace: Invalid value: "A_b": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
    ],
    [
      'metadata.finalizers',
      ['foo'],
      'metadata.finalizers[0]: Invalid value: "foo": name is neither a standard finalizer name nor is it fully qualified',
    ],
    ['metadata.finalizers', ['a.b/c']],
    [
      'metadata.labels',
      { 'a b': 'c' },
      `metadata.labels: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
    ],
    [
      'metadata.labels',
      { a: 'c d' },
      `metadata.labels: Invalid value: "c d": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
    ],
    ['spec.minReadySeconds', -1, 'spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0'],
    [
      'spec.selector',
      undefined,
      'spec.selector: Required value',
      'spec.template.metadata.labels: Invalid value: map[string]string{"app":"web"}: `selector` does not match template `labels`',
    ],
    [
      'spec.selector',
      {},
      'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string(nil), MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: empty selector is invalid for deployment',
    ],
    [
      'spec.selector',
      { matchLabels: { app: 'x' } },
      'spec.template.metadata.labels: Invalid value: map[string]string{"app":"web"}: `selector` does not match template `labels`',
    ],
    [
      'spec.selector',
      { matchLabels: { app: 'a b' } },
      `spec.selector.matchLabels: Invalid value: "a b": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
      'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"app":"a b"}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: invalid label selector',
    ],
    [
      'spec.selector',
      { matchExpressions: [{ key: 'app', operator: 'Is' }] },
      'spec.selector.matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator',
      'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string(nil), MatchExpressions:[]v1.LabelSelectorRequirement{v1.LabelSelectorRequirement{Key:"app", Operator:"Is", Values:[]string(nil)}}}: invalid label selector',
    ],
    [
      'spec.selector',
      { matchExpressions: [{ key: 'app', operator: 'In' }] },
      "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
      'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string(nil), MatchExpressions:[]v1.LabelSelectorRequirement{v1.LabelSelectorRequirement{Key:"app", Operator:"In", Values:[]string(nil)}}}: invalid label selector',
    ],
    ['spec.selector', { matchExpressions: [{ key: 'app', operator: 'In', values: ['web'] }] }],
    [
      'spec.template.spec.restartPolicy',
      'OnFailure',
      'spec.template.spec.restartPolicy: Unsupported value: "OnFailure": supported values: "Always"',
    ],
    [
      'spec.template.spec.activeDeadlineSeconds',
      1,
      'spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported',
    ],
    [
      'spec.template',
      undefined,
      'spec.template.metadata.labels: Invalid value: map[string]string(nil): `selector` does not match template `labels`',
      'spec.template.spec.containers: Required value',
    ],
    ['spec.replicas', -1, 'spec.replicas: Invalid value: -1: must be greater than or equal to 0'],
    [
      'spec',
      {
        selector: { matchLabels: { app: 'web' } },
        template: {
          metadata: { labels: { app: 'web' } },
          spec: {
            containers: [{ name: 'c', image: 'i' }],
            volumes: [{ name: 'v', gcePersistentDisk: { pdName: 'p' } }],
          },
        },
        replicas: 2,
      },
      'spec.template.spec.volumes[0].gcePersistentDisk.readOnly: Invalid value: false: must be true for replicated pods > 1; GCE PD can only be mounted on multiple machines if it is read-only',
    ],
    ['spec.template.spec.volumes', [{ name: 'v', gcePersistentDisk: { pdName: 'p' } }]],
    ['spec.template.spec.volumes', [{ name: 'v', gcePersistentDisk: { pdName: 'p', readOnly: true } }]],
    [
      'spec.strategy',
      { type: 'Recreate', rollingUpdate: {} },
      "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
    ],
    [
      'spec.strategy',
      { type: 'Other' },
      'spec.strategy: Unsupported value: {"type":"Other"}: supported values: "Recreate", "RollingUpdate"',
    ],
    [
      'spec.strategy',
      { rollingUpdate: { maxUnavailable: '0%', maxSurge: '0%' } },
      'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "0%": may not be 0 when `maxSurge` is 0',
    ],
    [
      'spec.strategy',
      { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: -1 } },
      'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: -1: must be greater than or equal to 0',
    ],
    [
      'spec.strategy',
      { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 'x' } },
      `spec.strategy.rollingUpdate.maxUnavailable: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"x"}: a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')`,
    ],
    [
      'spec.strategy',
      { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '101%' } },
      'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"101%"}: must not be greater than 100%',
    ],
    ['spec.strategy', { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '50%' } }],
    [
      'spec.strategy',
      { type: 'RollingUpdate', rollingUpdate: { maxSurge: -1 } },
      'spec.strategy.rollingUpdate.maxSurge: Invalid value: -1: must be greater than or equal to 0',
    ],
    [
      'spec.strategy',
      { type: 'RollingUpdate', rollingUpdate: { maxSurge: '10' } },
      `spec.strategy.rollingUpdate.maxSurge: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"10"}: a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')`,
    ],
    [
      'spec.revisionHistoryLimit',
      -1,
      'spec.revisionHistoryLimit: Invalid value: -1: must be greater than or equal to 0',
    ],
    ['spec.revisionHistoryLimit', 0],
    [
      'spec.progressDeadlineSeconds',
      -1,
      'spec.progressDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0',
      'spec.progressDeadlineSeconds: Invalid value: -1: must be greater than minReadySeconds',
    ],
    [
      'spec',
      {
        selector: { matchLabels: { app: 'web' } },
        template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
        minReadySeconds: 600,
      },
      'spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds',
    ],
    [
      'spec',
      {
        selector: { matchLabels: { app: 'web' } },
        template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
        minReadySeconds: 599,
      },
    ],
  ];
  checkRules(t, deploymentStrategy, base, create);
  const update: RuleRow[] = [
    [
      'spec.selector',
      { matchLabels: { app: 'web', x: 'y' } },
      'spec.template.metadata.labels: Invalid value: map[string]string{"app":"web"}: `selector` does not match template `labels`',
      'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"app":"web", "x":"y"}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: field is immutable',
    ],
    ['spec.replicas', -1, 'spec.replicas: Invalid value: -1: must be greater than or equal to 0'],
    ['metadata.uid', 'other', 'metadata.uid: Invalid value: "other": field is immutable'],
    [
      'metadata.finalizers',
      ['foo'],
      'metadata.finalizers[0]: Invalid value: "foo": name is neither a standard finalizer name nor is it fully qualified',
    ],
    ['spec.template.metadata.labels', { app: 'web', x: 'y' }],
  ];
  checkUpdateRules(t, deploymentStrategy, base, update);
  const status: RuleRow[] = [
    ['observedGeneration', -1, 'status.observedGeneration: Invalid value: -1: must be greater than or equal to 0'],
    [
      'replicas',
      -1,
      'status.replicas: Invalid value: -1: must be greater than or equal to 0',
      'status.updatedReplicas: Invalid value: 3: cannot be greater than status.replicas',
      'status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas',
      'status.availableReplicas: Invalid value: 2: cannot be greater than status.replicas',
    ],
    ['unavailableReplicas', -1, 'status.unavailableReplicas: Invalid value: -1: must be greater than or equal to 0'],
    ['updatedReplicas', 4, 'status.updatedReplicas: Invalid value: 4: cannot be greater than status.replicas'],
    ['readyReplicas', 4, 'status.readyReplicas: Invalid value: 4: cannot be greater than status.replicas'],
    ['availableReplicas', 3, 'status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas'],
    ['collisionCount', undefined, 'status.collisionCount: Invalid value: 0: cannot be decremented'],
    ['collisionCount', 1, 'status.collisionCount: Invalid value: 1: cannot be decremented'],
    [
      'collisionCount',
      -1,
      'status.collisionCount: Invalid value: -1: must be greater than or equal to 0',
      'status.collisionCount: Invalid value: -1: cannot be decremented',
    ],
    ['collisionCount', 3],
  ];
  checkStatusRules(
    t,
    deploymentStrategy,
    { base, status: { replicas: 3, updatedReplicas: 3, readyReplicas: 2, availableReplicas: 2, collisionCount: 2 } },
    status,
  );
  t.end();
});

t.test('replica sets are validated as in 1.24', (t) => {
  const base: Draft = {
    metadata: { name: 'd', namespace: 'ns' },
    spec: {
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    },
  };
  const create: RuleRow[] = [
    [
      'metadata.name',
      'A',
      `metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    ['metadata.name', undefined, 'metadata.name: Required value: name or generateName is required'],
    [
      'metadata.namespace',
      'A_b',
      `metadata.namespace: Invalid value: "A_b": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
    ],
    [
      'metadata.finalizers',
      ['foo'],
      'metadata.finalizers[0]: Invalid value: "foo": name is neither a standard finalizer name nor is it fully qualified',
    ],
    ['metadata.finalizers', ['a.b/c']],
    [
      'metadata.labels',
      { 'a b': 'c' },
      `metadata.labels: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
    ],
    [
      'metadata.labels',
      { a: 'c d' },
      `metadata.labels: Invalid value: "c d": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
    ],
    ['spec.minReadySeconds', -1, 'spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0'],
    [
      'spec.selector',
      undefined,
      'spec.selector: Required value',
      'spec.template.metadata.labels: Invalid value: map[string]string{"app":"web"}: `selector` does not match template `labels`',
    ],
    [
      'spec.selector',
      {},
      'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string(nil), MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: empty selector is invalid for deployment',
    ],
    [
      'spec.selector',
      { matchLabels: { app: 'x' } },
      'spec.template.metadata.labels: Invalid value: map[string]string{"app":"web"}: `selector` does not match template `labels`',
    ],
    [
      'spec.selector',
      { matchLabels: { app: 'a b' } },
      `spec.selector.matchLabels: Invalid value: "a b": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
      'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"app":"a b"}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: invalid label selector',
    ],
    [
      'spec.selector',
      { matchExpressions: [{ key: 'app', operator: 'Is' }] },
      'spec.selector.matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator',
      'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string(nil), MatchExpressions:[]v1.LabelSelectorRequirement{v1.LabelSelectorRequirement{Key:"app", Operator:"Is", Values:[]string(nil)}}}: invalid label selector',
    ],
    [
      'spec.selector',
      { matchExpressions: [{ key: 'app', operator: 'In' }] },
      "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
      'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string(nil), MatchExpressions:[]v1.LabelSelectorRequirement{v1.LabelSelectorRequirement{Key:"app", Operator:"In", Values:[]string(nil)}}}: invalid label selector',
    ],
    ['spec.selector', { matchExpressions: [{ key: 'app', operator: 'In', values: ['web'] }] }],
    [
      'spec.template.spec.restartPolicy',
      'OnFailure',
      'spec.template.spec.restartPolicy: Unsupported value: "OnFailure": supported values: "Always"',
    ],
    [
      'spec.template.spec.activeDeadlineSeconds',
      1,
      'spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported',
    ],
    [
      'spec.template',
      undefined,
      'spec.template.metadata.labels: Invalid value: map[string]string(nil): `selector` does not match template `labels`',
      'spec.template.spec.containers: Required value',
    ],
    ['spec.replicas', -1, 'spec.replicas: Invalid value: -1: must be greater than or equal to 0'],
    [
      'spec',
      {
        selector: { matchLabels: { app: 'web' } },
        template: {
          metadata: { labels: { app: 'web' } },
          spec: {
            containers: [{ name: 'c', image: 'i' }],
            volumes: [{ name: 'v', gcePersistentDisk: { pdName: 'p' } }],
          },
        },
        replicas: 2,
      },
      'spec.template.spec.volumes[0].gcePersistentDisk.readOnly: Invalid value: false: must be true for replicated pods > 1; GCE PD can only be mounted on multiple machines if it is read-only',
    ],
    ['spec.template.spec.volumes', [{ name: 'v', gcePersistentDisk: { pdName: 'p' } }]],
  ];
  checkRules(t, replicaSetStrategy, base, create);
  const update: RuleRow[] = [
    [
      'spec.selector',
      { matchLabels: { app: 'web', x: 'y' } },
      'spec.template.metadata.labels: Invalid value: map[string]string{"app":"web"}: `selector` does not match template `labels`',
      'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"app":"web", "x":"y"}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: field is immutable',
    ],
    ['spec.replicas', 5],
    [
      'spec.template.metadata.labels',
      { app: 'x' },
      'spec.template.metadata.labels: Invalid value: map[string]string{"app":"x"}: `selector` does not match template `labels`',
    ],
  ];
  checkUpdateRules(t, replicaSetStrategy, base, update);
  const status: RuleRow[] = [
    [
      'replicas',
      -1,
      'status.replicas: Invalid value: -1: must be greater than or equal to 0',
      'status.fullyLabeledReplicas: Invalid value: 0: cannot be greater than status.replicas',
      'status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas',
      'status.availableReplicas: Invalid value: 2: cannot be greater than status.replicas',
    ],
    ['fullyLabeledReplicas', -1, 'status.fullyLabeledReplicas: Invalid value: -1: must be greater than or equal to 0'],
    [
      'fullyLabeledReplicas',
      4,
      'status.fullyLabeledReplicas: Invalid value: 4: cannot be greater than status.replicas',
    ],
    ['readyReplicas', 4, 'status.readyReplicas: Invalid value: 4: cannot be greater than status.replicas'],
    ['availableReplicas', 3, 'status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas'],
    ['observedGeneration', -1, 'status.observedGeneration: Invalid value: -1: must be greater than or equal to 0'],
  ];
  checkStatusRules(
    t,
    replicaSetStrategy,
    { base, status: { replicas: 3, readyReplicas: 2, availableReplicas: 2 } },
    status,
  );
  t.end();
});

t.test('daemon sets are validated as in 1.24', (t) => {
  const base: Draft = {
    metadata: { name: 'd', namespace: 'ns' },
    spec: {
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    },
  };
  const create: RuleRow[] = [
    [
      'metadata.name',
      'A',
      `metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    ['metadata.name', undefined, 'metadata.name: Required value: name or generateName is required'],
    [
      'metadata.namespace',
      'A_b',
      `metadata.namespace: Invalid value: "A_b": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
    ],
    [
      'metadata.finalizers',
      ['foo'],
      'metadata.finalizers[0]: Invalid value: "foo": name is neither a standard finalizer name nor is it fully qualified',
    ],
    ['metadata.finalizers', ['a.b/c']],
    [
      'metadata.labels',
      { 'a b': 'c' },
      `metadata.labels: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
    ],
    [
      'metadata.labels',
      { a: 'c d' },
      `metadata.labels: Invalid value: "c d": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
    ],
    ['spec.minReadySeconds', -1, 'spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0'],
    [
      'spec.selector',
      undefined,
      'spec.template.metadata.labels: Invalid value: map[string]string{"app":"web"}: `selector` does not match template `labels`',
    ],
    [
      'spec.selector',
      {},
      'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string(nil), MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: empty selector is invalid for daemonset',
    ],
    [
      'spec.selector',
      { matchLabels: { app: 'x' } },
      'spec.template.metadata.labels: Invalid value: map[string]string{"app":"web"}: `selector` does not match template `labels`',
    ],
    [
      'spec.selector',
      { matchLabels: { app: 'a b' } },
      `spec.selector.matchLabels: Invalid value: "a b": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
    ],
    [
      'spec.selector',
      { matchExpressions: [{ key: 'app', operator: 'Is' }] },
      'spec.selector.matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator',
    ],
    [
      'spec.selector',
      { matchExpressions: [{ key: 'app', operator: 'In' }] },
      "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
    ],
    ['spec.selector', { matchExpressions: [{ key: 'app', operator: 'In', values: ['web'] }] }],
    [
      'spec.template.spec.restartPolicy',
      'OnFailure',
      'spec.template.spec.restartPolicy: Unsupported value: "OnFailure": supported values: "Always"',
    ],
    [
      'spec.template.spec.activeDeadlineSeconds',
      1,
      'spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in DaemonSet is not Supported',
    ],
    [
      'spec.template',
      undefined,
      'spec.template.metadata.labels: Invalid value: map[string]string(nil): `selector` does not match template `labels`',
      'spec.template.spec.containers: Required value',
    ],
    ['spec.template.spec.volumes', [{ name: 'v', gcePersistentDisk: { pdName: 'p', readOnly: true } }]],
    [
      'spec.template.spec.volumes',
      [{ name: 'v', gcePersistentDisk: { pdName: 'p' } }],
      'spec.template.spec.volumes[0].gcePersistentDisk.readOnly: Invalid value: false: must be true for replicated pods > 1; GCE PD can only be mounted on multiple machines if it is read-only',
    ],
    ['spec.updateStrategy', { type: 'OnDelete' }],
    [
      'spec.updateStrategy',
      { type: 'Other' },
      'spec.updateStrategy: Unsupported value: {"type":"Other"}: supported values: "RollingUpdate", "OnDelete"',
    ],
    [
      'spec.updateStrategy',
      { rollingUpdate: { maxUnavailable: 0, maxSurge: 0 } },
      'spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0',
    ],
    [
      'spec.updateStrategy',
      { rollingUpdate: { maxUnavailable: '10%', maxSurge: '10%' } },
      'spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"10%"}: may not be set when maxUnavailable is non-zero',
    ],
    [
      'spec.updateStrategy',
      { rollingUpdate: { maxUnavailable: 0, maxSurge: '101%' } },
      'spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"101%"}: must not be greater than 100%',
    ],
    [
      'spec.updateStrategy',
      { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: -1 } },
      'spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: -1: must be greater than or equal to 0',
    ],
    [
      'spec.updateStrategy',
      { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 'x' } },
      `spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"x"}: a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')`,
      'spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0',
    ],
    [
      'spec.updateStrategy',
      { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '101%' } },
      'spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"101%"}: must not be greater than 100%',
    ],
    ['spec.updateStrategy', { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '50%' } }],
    [
      'spec.updateStrategy',
      { type: 'RollingUpdate', rollingUpdate: { maxSurge: -1, maxUnavailable: 0 } },
      'spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: -1: must be greater than or equal to 0',
    ],
    [
      'spec.updateStrategy',
      { type: 'RollingUpdate', rollingUpdate: { maxSurge: '10', maxUnavailable: 0 } },
      `spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"10"}: a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')`,
      'spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0',
    ],
    [
      'spec.revisionHistoryLimit',
      -1,
      'spec.revisionHistoryLimit: Invalid value: -1: must be greater than or equal to 0',
    ],
  ];
  checkRules(t, daemonSetStrategy, base, create);
  const update: RuleRow[] = [
    [
      'spec.selector',
      { matchLabels: { app: 'web', x: 'y' } },
      'spec.template.metadata.labels: Invalid value: map[string]string{"app":"web"}: `selector` does not match template `labels`',
      'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"app":"web", "x":"y"}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: field is immutable',
    ],
    ['spec.template.spec.containers.0.image', 'j'],
  ];
  checkUpdateRules(t, daemonSetStrategy, base, update);
  const status: RuleRow[] = [
    [
      'currentNumberScheduled',
      -1,
      'status.currentNumberScheduled: Invalid value: -1: must be greater than or equal to 0',
    ],
    ['numberMisscheduled', -1, 'status.numberMisscheduled: Invalid value: -1: must be greater than or equal to 0'],
    [
      'desiredNumberScheduled',
      -1,
      'status.desiredNumberScheduled: Invalid value: -1: must be greater than or equal to 0',
    ],
    ['numberReady', -1, 'status.numberReady: Invalid value: -1: must be greater than or equal to 0'],
    ['observedGeneration', -1, 'status.observedGeneration: Invalid value: -1: must be greater than or equal to 0'],
    [
      'updatedNumberScheduled',
      -1,
      'status.updatedNumberScheduled: Invalid value: -1: must be greater than or equal to 0',
    ],
    ['numberAvailable', -1, 'status.numberAvailable: Invalid value: -1: must be greater than or equal to 0'],
    ['numberUnavailable', -1, 'status.numberUnavailable: Invalid value: -1: must be greater than or equal to 0'],
    ['collisionCount', 0, 'status.collisionCount: Invalid value: 0: cannot be decremented'],
    ['collisionCount', undefined, 'status.collisionCount: Invalid value: 0: cannot be decremented'],
  ];
  checkStatusRules(
    t,
    daemonSetStrategy,
    {
      base,
      status: {
        currentNumberScheduled: 1,
        numberMisscheduled: 0,
        desiredNumberScheduled: 1,
        numberReady: 1,
        collisionCount: 1,
      },
    },
    status,
  );
  t.end();
});

t.test('stateful sets are validated as in 1.24', (t) => {
  const base: Draft = {
    metadata: { name: 'd', namespace: 'ns' },
    spec: {
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
      serviceName: 's',
    },
  };
  const create: RuleRow[] = [
    [
      'metadata.name',
      'A',
      `metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    ['metadata.name', undefined, 'metadata.name: Required value: name or generateName is required'],
    [
      'metadata.namespace',
      'A_b',
      `metadata.namespace: Invalid value: "A_b": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
    ],
    [
      'metadata.finalizers',
      ['foo'],
      'metadata.finalizers[0]: Invalid value: "foo": name is neither a standard finalizer name nor is it fully qualified',
    ],
    ['metadata.finalizers', ['a.b/c']],
    [
      'metadata.labels',
      { 'a b': 'c' },
      `metadata.labels: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
    ],
    [
      'metadata.labels',
      { a: 'c d' },
      `metadata.labels: Invalid value: "c d": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
    ],
    ['spec.minReadySeconds', -1, 'spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0'],
    [
      'spec.selector',
      undefined,
      'spec.selector: Required value',
      'spec.template.metadata.labels: Invalid value: map[string]string{"app":"web"}: `selector` does not match template `labels`',
    ],
    [
      'spec.selector',
      {},
      'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string(nil), MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: empty selector is invalid for statefulset',
    ],
    [
      'spec.selector',
      { matchLabels: { app: 'x' } },
      'spec.template.metadata.labels: Invalid value: map[string]string{"app":"web"}: `selector` does not match template `labels`',
    ],
    [
      'spec.selector',
      { matchLabels: { app: 'a b' } },
      `spec.selector.matchLabels: Invalid value: "a b": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
      'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"app":"a b"}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}',
    ],
    [
      'spec.selector',
      { matchExpressions: [{ key: 'app', operator: 'Is' }] },
      'spec.selector.matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator',
      'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string(nil), MatchExpressions:[]v1.LabelSelectorRequirement{v1.LabelSelectorRequirement{Key:"app", Operator:"Is", Values:[]string(nil)}}}',
    ],
    [
      'spec.selector',
      { matchExpressions: [{ key: 'app', operator: 'In' }] },
      "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
      'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string(nil), MatchExpressions:[]v1.LabelSelectorRequirement{v1.LabelSelectorRequirement{Key:"app", Operator:"In", Values:[]string(nil)}}}',
    ],
    ['spec.selector', { matchExpressions: [{ key: 'app', operator: 'In', values: ['web'] }] }],
    [
      'spec.template.spec.restartPolicy',
      'OnFailure',
      'spec.template.spec.restartPolicy: Unsupported value: "OnFailure": supported values: "Always"',
    ],
    [
      'spec.template.spec.activeDeadlineSeconds',
      1,
      'spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in StatefulSet is not Supported',
    ],
    [
      'spec.template',
      undefined,
      'spec.template.metadata.labels: Invalid value: map[string]string(nil): `selector` does not match template `labels`',
    ],
    ['spec.replicas', -1, 'spec.replicas: Invalid value: -1: must be greater than or equal to 0'],
    [
      'spec.podManagementPolicy',
      'Any',
      `spec.podManagementPolicy: Invalid value: "Any": must be 'OrderedReady' or 'Parallel'`,
    ],
    ['spec.podManagementPolicy', 'Parallel'],
    [
      'spec.updateStrategy',
      { type: 'Other' },
      `spec.updateStrategy: Invalid value: apps.StatefulSetUpdateStrategy{Type:"Other", RollingUpdate:(*apps.RollingUpdateStatefulSetStrategy)(nil)}: must be 'RollingUpdate' or 'OnDelete'`,
    ],
    [
      'spec.updateStrategy',
      { type: 'OnDelete', rollingUpdate: { partition: 1 } },
      `spec.updateStrategy.rollingUpdate: Invalid value: apps.RollingUpdateStatefulSetStrategy{Partition:1, MaxUnavailable:(*intstr.IntOrString)(nil)}: only allowed for updateStrategy 'RollingUpdate'`,
    ],
    ['spec.updateStrategy', { type: 'OnDelete' }],
    ['spec.updateStrategy', { type: 'RollingUpdate' }],
    [
      'spec.updateStrategy',
      { rollingUpdate: { partition: -1 } },
      'spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be greater than or equal to 0',
    ],
  ];
  checkRules(t, statefulSetStrategy, base, create);
  const update: RuleRow[] = [
    [
      'spec.serviceName',
      't',
      "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'template', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
    ],
    [
      'spec.podManagementPolicy',
      'Parallel',
      "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'template', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
    ],
    [
      'spec.revisionHistoryLimit',
      3,
      "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'template', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
    ],
    ['spec.replicas', 3],
    ['spec.minReadySeconds', 3],
    ['spec.updateStrategy', { type: 'OnDelete' }],
    ['spec.template.spec.containers.0.image', 'j'],
    [
      'spec.volumeClaimTemplates',
      [{ metadata: { name: 'v' }, spec: { accessModes: ['ReadWriteOnce'] } }],
      "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'template', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
    ],
  ];
  checkUpdateRules(t, statefulSetStrategy, base, update);
  const status: RuleRow[] = [
    [
      'replicas',
      -1,
      'status.replicas: Invalid value: -1: must be greater than or equal to 0',
      'status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas',
      'status.currentReplicas: Invalid value: 1: cannot be greater than status.replicas',
      'status.updatedReplicas: Invalid value: 1: cannot be greater than status.replicas',
      'status.availableReplicas: Invalid value: 2: cannot be greater than status.replicas',
    ],
    [
      'readyReplicas',
      -1,
      'status.readyReplicas: Invalid value: -1: must be greater than or equal to 0',
      'status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas',
    ],
    ['currentReplicas', -1, 'status.currentReplicas: Invalid value: -1: must be greater than or equal to 0'],
    ['updatedReplicas', -1, 'status.updatedReplicas: Invalid value: -1: must be greater than or equal to 0'],
    ['availableReplicas', -1, 'status.availableReplicas: Invalid value: -1: must be greater than or equal to 0'],
    ['observedGeneration', -1, 'status.observedGeneration: Invalid value: -1: must be greater than or equal to 0'],
    ['readyReplicas', 4, 'status.readyReplicas: Invalid value: 4: cannot be greater than status.replicas'],
    ['currentReplicas', 4, 'status.currentReplicas: Invalid value: 4: cannot be greater than status.replicas'],
    ['updatedReplicas', 4, 'status.updatedReplicas: Invalid value: 4: cannot be greater than status.replicas'],
    [
      'availableReplicas',
      4,
      'status.availableReplicas: Invalid value: 4: cannot be greater than status.replicas',
      'status.availableReplicas: Invalid value: 4: cannot be greater than readyReplicas',
    ],
    ['availableReplicas', 3, 'status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas'],
    ['collisionCount', 0, 'status.collisionCount: Invalid value: 0: cannot be decremented'],
    [
      'collisionCount',
      -1,
      'status.collisionCount: Invalid value: -1: must be greater than or equal to 0',
      'status.collisionCount: Invalid value: -1: cannot be decremented',
    ],
  ];
  checkStatusRules(
    t,
    statefulSetStrategy,
    {
      base,
      status: {
        replicas: 3,
        readyReplicas: 2,
        availableReplicas: 2,
        currentReplicas: 1,
        updatedReplicas: 1,
        collisionCount: 1,
      },
    },
    status,
  );
  t.end();
});

t.test('controller revisions are validated as in 1.24', (t) => {
  const base: Draft = { metadata: { name: 'd', namespace: 'ns' }, data: { a: 1 }, revision: 1 };
  const create: RuleRow[] = [
    [
      'metadata.name',
      'A',
      `metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    ['data', undefined, 'data: Required value: data is mandatory'],
    ['revision', -1, 'revision: Invalid value: -1: must be greater than or equal to 0'],
  ];
  checkRules(t, controllerRevisionStrategy, base, create);
  const update: RuleRow[] = [
    [
      'data',
      { a: 2 },
      'data: Invalid value: runtime.Unknown{TypeMeta:runtime.TypeMeta{APIVersion:"", Kind:""}, Raw:[]uint8{0x7b, 0x22, 0x61, 0x22, 0x3a, 0x32, 0x7d}, ContentEncoding:"", ContentType:"application/json"}: field is immutable',
    ],
    ['revision', 2],
    ['metadata.labels', { a: 'b' }],
  ];
  checkUpdateRules(t, controllerRevisionStrategy, base, update);
  t.end();
});
