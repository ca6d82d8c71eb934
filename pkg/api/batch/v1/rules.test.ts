import t from 'tap';
import { cronJobStrategy } from '#api/batch/v1/cronjob/strategy.js';
import { jobStrategy } from '#api/batch/v1/job/strategy.js';
import { checkRules, checkStatusRules, checkUpdateRules, type RuleRow } from '#api/testing/rule-table.js';
import type { Draft } from '#api/testing/strategy-table.js';

t.test('jobs are validated as in 1.24', (t) => {
  const base: Draft = {
    metadata: { name: 'j', namespace: 'ns', uid: 'u' },
    spec: { template: { spec: { containers: [{ name: 'c', image: 'i' }], restartPolicy: 'Never' } } },
  };
  const create: RuleRow[] = [
    ['spec.parallelism', -1, 'spec.parallelism: Invalid value: -1: must be greater than or equal to 0'],
    ['spec.completions', -1, 'spec.completions: Invalid value: -1: must be greater than or equal to 0'],
    [
      'spec.activeDeadlineSeconds',
      -1,
      'spec.activeDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0',
    ],
    ['spec.backoffLimit', -1, 'spec.backoffLimit: Invalid value: -1: must be greater than or equal to 0'],
    [
      'spec.ttlSecondsAfterFinished',
      -1,
      'spec.ttlSecondsAfterFinished: Invalid value: -1: must be greater than or equal to 0',
    ],
    [
      'spec.completionMode',
      'Other',
      'spec.completionMode: Unsupported value: "Other": supported values: "NonIndexed", "Indexed"',
    ],
    [
      'spec',
      {
        template: { spec: { containers: [{ name: 'c', image: 'i' }], restartPolicy: 'Never' } },
        completionMode: 'Indexed',
        parallelism: 1,
      },
      'spec.completions: Required value: when completion mode is Indexed',
    ],
    [
      'spec',
      {
        template: { spec: { containers: [{ name: 'c', image: 'i' }], restartPolicy: 'Never' } },
        completionMode: 'Indexed',
        completions: 1,
        parallelism: 100001,
      },
      'spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when completion mode is Indexed',
    ],
    [
      'spec.template',
      undefined,
      'spec.template.spec.containers: Required value',
      'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
    ],
    [
      'spec.template.spec.restartPolicy',
      undefined,
      'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
    ],
    [
      'spec.template.spec.restartPolicy',
      'Always',
      'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
    ],
    [
      'spec.template.spec.restartPolicy',
      'Sometimes',
      'spec.template.spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"',
      'spec.template.spec.restartPolicy: Unsupported value: "Sometimes": supported values: "OnFailure", "Never"',
    ],
    ['spec.template.spec.containers', [], 'spec.template.spec.containers: Required value'],
    ['metadata.uid', undefined, 'metadata.uid: Required value'],
    [
      'spec.template.metadata',
      { labels: { 'job-name': 'other' } },
      `spec.template.metadata.labels[job-name]: Invalid value: map[string]string{"controller-uid":"u", "job-name":"other"}: must be 'j'`,
    ],
    [
      'spec.template.metadata',
      { labels: { 'controller-uid': 'other' } },
      `spec.template.metadata.labels[controller-uid]: Invalid value: map[string]string{"controller-uid":"other", "job-name":"j"}: must be 'u'`,
      'spec.template.metadata.labels: Invalid value: map[string]string{"controller-uid":"other", "job-name":"j"}: `selector` does not match template `labels`',
    ],
    [
      'spec.selector',
      { matchLabels: { a: 'b' } },
      'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"a":"b", "controller-uid":"u"}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: `selector` not auto-generated',
      'spec.template.metadata.labels: Invalid value: map[string]string{"controller-uid":"u", "job-name":"j"}: `selector` does not match template `labels`',
    ],
    [
      'spec.selector',
      { matchLabels: { 'controller-uid': 'other' } },
      'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"controller-uid":"other"}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: `selector` not auto-generated',
      'spec.template.metadata.labels: Invalid value: map[string]string{"controller-uid":"u", "job-name":"j"}: `selector` does not match template `labels`',
    ],
    [
      'spec.selector',
      { matchExpressions: [{ key: 'a', operator: 'Is' }] },
      'spec.selector.matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator',
    ],
    [
      'spec.manualSelector',
      true,
      'spec.selector: Required value',
      'spec.template.metadata.labels: Invalid value: map[string]string(nil): `selector` does not match template `labels`',
    ],
    [
      'spec',
      {
        template: { spec: { containers: [{ name: 'c', image: 'i' }], restartPolicy: 'Never' } },
        manualSelector: true,
        selector: { matchLabels: { a: 'b' } },
      },
      'spec.template.metadata.labels: Invalid value: map[string]string(nil): `selector` does not match template `labels`',
    ],
    [
      'spec',
      {
        manualSelector: true,
        selector: { matchLabels: { a: 'b' } },
        template: {
          metadata: { labels: { a: 'b' } },
          spec: { containers: [{ name: 'c', image: 'i' }], restartPolicy: 'Never' },
        },
      },
    ],
    ['metadata.annotations', { 'batch.orch.io/job-tracking': '' }],
  ];
  checkRules(t, jobStrategy, base, create);
  const update: RuleRow[] = [
    ['spec.completions', 2, 'spec.completions: Invalid value: 2: field is immutable'],
    ['spec.completionMode', 'Indexed', 'spec.completionMode: Invalid value: "Indexed": field is immutable'],
    ['spec.parallelism', 5],
    ['spec.suspend', true],
    ['spec.backoffLimit', 0],
    ['spec.activeDeadlineSeconds', 5],
    [
      'spec.template.spec.containers.0.image',
      'j',
      'spec.template: Invalid value: core.PodTemplateSpec{ObjectMeta:v1.ObjectMeta{Name:"", GenerateName:"", Namespace:"", SelfLink:"", UID:"", ResourceVersion:"", Generation:0, CreationTimestamp:time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC), DeletionTimestamp:<nil>, DeletionGracePeriodSeconds:(*int64)(nil), Labels:map[string]string{"controller-uid":"u", "job-name":"j"}, Annotations:map[string]string(nil), OwnerReferences:[]v1.OwnerReference(nil), Finalizers:[]string(nil), ZZZ_DeprecatedClusterName:"", ManagedFields:[]v1.ManagedFieldsEntry(nil)}, Spec:core.PodSpec{Volumes:[]core.Volume(nil), InitContainers:[]core.Container(nil), Containers:[]core.Container{core.Container{Name:"c", Image:"j", Command:[]string(nil), Args:[]string(nil), WorkingDir:"", Ports:[]core.ContainerPort(nil), EnvFrom:[]core.EnvFromSource(nil), Env:[]core.EnvVar(nil), Resources:core.ResourceRequirements{Limits:core.ResourceList(nil), Requests:core.ResourceList(nil)}, VolumeMounts:[]core.VolumeMount(nil), VolumeDevices:[]core.VolumeDevice(nil), LivenessProbe:(*core.Probe)(nil), ReadinessProbe:(*core.Probe)(nil), StartupProbe:(*core.Probe)(nil), Lifecycle:(*core.Lifecycle)(nil), TerminationMessagePath:"/dev/termination-log", TerminationMessagePolicy:"File", ImagePullPolicy:"Always", SecurityContext:(*core.SecurityContext)(nil), Stdin:false, StdinOnce:false, TTY:false}}, EphemeralContainers:[]core.EphemeralContainer(nil), RestartPolicy:"Never", TerminationGracePeriodSeconds:(*int64)(30), ActiveDeadlineSeconds:(*int64)(nil), DNSPolicy:"ClusterFirst", NodeSelector:map[string]string(nil), ServiceAccountName:"", DeprecatedServiceAccount:"", AutomountServiceAccountToken:(*bool)(nil), NodeName:"", HostNetwork:false, HostPID:false, HostIPC:false, ShareProcessNamespace:(*bool)(nil), SecurityContext:(*core.PodSecurityContext)(core.PodSecurityContext{SELinuxOptions:(*core.SELinuxOptions)(nil), WindowsOptions:(*core.WindowsSecurityContextOptions)(nil), RunAsUser:(*int64)(nil), RunAsGroup:(*int64)(nil), RunAsNonRoot:(*bool)(nil), SupplementalGroups:[]int64(nil), FSGroup:(*int64)(nil), Sysctls:[]core.Sysctl(nil), FSGroupChangePolicy:(*core.PodFSGroupChangePolicy)(nil), SeccompProfile:(*core.SeccompProfile)(nil)}), ImagePullSecrets:[]core.LocalObjectReference(nil), Hostname:"", Subdomain:"", Affinity:(*core.Affinity)(nil), SchedulerName:"default-scheduler", Tolerations:[]core.Toleration(nil), HostAliases:[]core.HostAlias(nil), PriorityClassName:"", Priority:(*int32)(nil), DNSConfig:(*core.PodDNSConfig)(nil), ReadinessGates:[]core.PodReadinessGate(nil), RuntimeClassName:(*string)(nil), EnableServiceLinks:(*bool)(nil), PreemptionPolicy:(*core.PreemptionPolicy)(nil), Overhead:core.ResourceList(nil), TopologySpreadConstraints:[]core.TopologySpreadConstraint(nil), SetHostnameAsFQDN:(*bool)(nil), OS:(*core.PodOS)(nil)}}: field is immutable',
    ],
    [
      'spec.selector',
      { matchLabels: { 'controller-uid': 'u', x: 'y' } },
      'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"controller-uid":"u", "x":"y"}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: `selector` not auto-generated',
      'spec.template.metadata.labels: Invalid value: map[string]string{"controller-uid":"u", "job-name":"j"}: `selector` does not match template `labels`',
      'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"controller-uid":"u", "x":"y"}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: field is immutable',
    ],
  ];
  checkUpdateRules(t, jobStrategy, base, update);
  const status: RuleRow[] = [
    ['active', -1, 'status.active: Invalid value: -1: must be greater than or equal to 0'],
    ['succeeded', -1, 'status.succeeded: Invalid value: -1: must be greater than or equal to 0'],
    ['failed', -1, 'status.failed: Invalid value: -1: must be greater than or equal to 0'],
    ['ready', -1, 'status.ready: Invalid value: -1: must be greater than or equal to 0'],
    [
      'uncountedTerminatedPods',
      { succeeded: [''] },
      'status.uncountedTerminatedPods.succeeded[0]: Invalid value: "": must not be empty',
    ],
    [
      'uncountedTerminatedPods',
      { succeeded: ['a'], failed: ['a'] },
      'status.uncountedTerminatedPods.failed[0]: Duplicate value: "a"',
    ],
    [
      'uncountedTerminatedPods',
      { failed: ['a', 'b', 'a'] },
      'status.uncountedTerminatedPods.failed[2]: Duplicate value: "a"',
    ],
    ['uncountedTerminatedPods', { succeeded: ['a'], failed: ['b'] }],
  ];
  checkStatusRules(t, jobStrategy, { base }, status);
  t.end();
});

t.test('cron jobs are validated as in 1.24', (t) => {
  const base: Draft = {
    metadata: { name: 'c', namespace: 'ns' },
    spec: {
      schedule: '* * * * *',
      jobTemplate: {
        spec: { template: { spec: { containers: [{ name: 'c', image: 'i' }], restartPolicy: 'Never' } } },
      },
    },
  };
  const create: RuleRow[] = [
    ['spec.schedule', undefined, 'spec.schedule: Required value'],
    ['spec.schedule', 'bad', 'spec.schedule: Invalid value: "bad": expected exactly 5 fields, found 1: [bad]'],
    [
      'spec.schedule',
      '60 * * * *',
      'spec.schedule: Invalid value: "60 * * * *": end of range (60) above maximum (59): 60',
    ],
    [
      'spec.schedule',
      '* 24 * * *',
      'spec.schedule: Invalid value: "* 24 * * *": end of range (24) above maximum (23): 24',
    ],
    [
      'spec.schedule',
      '* * 0 * *',
      'spec.schedule: Invalid value: "* * 0 * *": beginning of range (0) below minimum (1): 0',
    ],
    [
      'spec.schedule',
      '* * * 13 *',
      'spec.schedule: Invalid value: "* * * 13 *": end of range (13) above maximum (12): 13',
    ],
    ['spec.schedule', '* * * * 7', 'spec.schedule: Invalid value: "* * * * 7": end of range (7) above maximum (6): 7'],
    [
      'spec.schedule',
      '5-1 * * * *',
      'spec.schedule: Invalid value: "5-1 * * * *": beginning of range (5) beyond end of range (1): 5-1',
    ],
    [
      'spec.schedule',
      '*/0 * * * *',
      'spec.schedule: Invalid value: "*/0 * * * *": step of range should be a positive number: */0',
    ],
    ['spec.schedule', '1-2-3 * * * *', 'spec.schedule: Invalid value: "1-2-3 * * * *": too many hyphens: 1-2-3'],
    ['spec.schedule', '*/2/3 * * * *', 'spec.schedule: Invalid value: "*/2/3 * * * *": too many slashes: */2/3'],
    [
      'spec.schedule',
      'a * * * *',
      'spec.schedule: Invalid value: "a * * * *": failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax',
    ],
    ['spec.schedule', '@often', 'spec.schedule: Invalid value: "@often": unrecognized descriptor: @often'],
    [
      'spec.schedule',
      '@every soon',
      'spec.schedule: Invalid value: "@every soon": failed to parse duration @every soon: time: invalid duration "soon"',
    ],
    ['spec.schedule', '@hourly'],
    [
      'spec.schedule',
      'TZ=Mars/Base * * * * *',
      'spec.schedule: Invalid value: "TZ=Mars/Base * * * * *": provided bad location Mars/Base: unknown time zone Mars/Base',
    ],
    ['spec.schedule', 'CRON_TZ=Europe/Berlin 0 0 * * *'],
    [
      'spec.startingDeadlineSeconds',
      -1,
      'spec.startingDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0',
    ],
    [
      'spec.concurrencyPolicy',
      'Other',
      'spec.concurrencyPolicy: Unsupported value: "Other": supported values: "Allow", "Forbid", "Replace"',
    ],
    ['spec.concurrencyPolicy', 'Replace'],
    [
      'spec.successfulJobsHistoryLimit',
      -1,
      'spec.successfulJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0',
    ],
    [
      'spec.failedJobsHistoryLimit',
      -1,
      'spec.failedJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0',
    ],
    [
      'spec.jobTemplate',
      undefined,
      'spec.jobTemplate.spec.template.spec.containers: Required value',
      'spec.jobTemplate.spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
    ],
    [
      'spec.jobTemplate.spec.template.spec.restartPolicy',
      'Always',
      'spec.jobTemplate.spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
    ],
    [
      'spec.jobTemplate.spec.backoffLimit',
      -1,
      'spec.jobTemplate.spec.backoffLimit: Invalid value: -1: must be greater than or equal to 0',
    ],
    [
      'spec.jobTemplate.spec.selector',
      { matchLabels: { a: 'b' } },
      'spec.jobTemplate.spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"a":"b"}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: `selector` will be auto-generated',
    ],
    [
      'spec.jobTemplate.spec.manualSelector',
      true,
      'spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false"',
    ],
    ['spec.jobTemplate.spec.manualSelector', false],
    [
      'metadata.name',
      'x'.repeat(53),
      `metadata.name: Invalid value: "${'x'.repeat(53)}": must be no more than 52 characters`,
    ],
    ['metadata.name', 'x'.repeat(52)],
  ];
  checkRules(t, cronJobStrategy, base, create);
  const update: RuleRow[] = [
    ['spec.schedule', 'bad', 'spec.schedule: Invalid value: "bad": expected exactly 5 fields, found 1: [bad]'],
    ['spec.suspend', true],
    [
      'spec.concurrencyPolicy',
      'Other',
      'spec.concurrencyPolicy: Unsupported value: "Other": supported values: "Allow", "Forbid", "Replace"',
    ],
  ];
  checkUpdateRules(t, cronJobStrategy, base, update);
  t.end();
});
