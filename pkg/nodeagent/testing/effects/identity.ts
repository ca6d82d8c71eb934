/** Effects of options of identity, runtime and API server. */
import { type Effects, seenIn, sees } from '#nodeagent/testing/effects/effect.js';
import { addresses, kibibytes, lease, node, started, taintTexts } from '#nodeagent/testing/effects/node-sights.js';
import { removedImages } from '#nodeagent/testing/effects/reclaim-sights.js';
import { heartbeats } from '#nodeagent/testing/effects/time-sights.js';

const bootstrap = 'test/integration/nodeagent/tls-bootstrap.test.ts';
const requested = seenIn(bootstrap, 'both certificates are requested, approved and used');
const pulls = seenIn(
  'pkg/nodeagent/images/pulls.containerd.test.ts',
  'images are pulled with credentials of the pod, of plugins and of the node',
);

export const identityEffects: Effects = {
  dialect: {
    argument: 'kubernetes',
    proof: seenIn('pkg/nodeagent/options/options.test.ts', 'the dialect determines paths, media types and other names'),
  },
  config: {
    argument: '/f',
    proof: seenIn('pkg/nodeagent/options/config/file.test.ts', 'a file is read from its path'),
  },
  kubeconfig: { argument: '/f', proof: requested },
  'bootstrap-kubeconfig': { argument: '/f', proof: requested },
  'cert-dir': { argument: '/d', proof: requested },
  'root-dir': {
    argument: '/d',
    proof: seenIn('pkg/cluster/node-agent/shutdown.test.ts', 'pods end by the periods of the file'),
  },
  'local-volumes-dir': {
    argument: '/d',
    proof: seenIn(
      'pkg/nodeagent/volumes/local-directories.test.ts',
      'a directory is created once, writable by all, and removed with its contents',
    ),
  },
  'pod-logs-dir': {
    argument: '/d',
    proof: sees(
      /^\/d\//,
      started(({ sandbox }) => sandbox.logDirectory),
    ),
  },
  'hostname-override': { argument: 'n', proof: requested },
  'node-ip': {
    argument: '192.0.2.7,2001:db8::7',
    proof: sees(
      ['192.0.2.7', '2001:db8::7'],
      node(({ status }) => addresses(status?.addresses, 'InternalIP')),
    ),
  },
  'node-labels': {
    argument: 'example.com/a=b',
    proof: sees(
      'b',
      node(({ metadata }) => metadata.labels?.['example.com/a']),
    ),
  },
  'register-node': {
    argument: 'false',
    fields: { registerNode: false },
    proof: sees(
      undefined,
      node(({ metadata }) => metadata.name),
    ),
  },
  'register-schedulable': {
    argument: 'false',
    proof: sees(
      true,
      node(({ spec }) => spec?.unschedulable),
    ),
  },
  'register-with-taints': {
    argument: 'a=b:NoSchedule,c:NoExecute',
    fields: {
      registerWithTaints: [
        { key: 'a', value: 'b', effect: 'NoSchedule' },
        { key: 'c', effect: 'NoExecute' },
      ],
    },
    proof: sees(
      'a=b:NoSchedule c:NoExecute',
      node(({ spec }) => taintTexts(spec?.taints)),
    ),
  },
  'provider-id': {
    argument: 'metal://7',
    fields: { providerID: 'metal://7' },
    proof: sees(
      'metal://7',
      node(({ spec }) => spec?.providerID),
    ),
  },
  'cloud-provider': {
    argument: 'external',
    proof: sees(
      true,
      node(({ spec }, { taints }) => spec?.taints?.some(({ key }) => key === taints.uninitialized)),
    ),
  },
  'cloud-config': {
    argument: '/f',
    proof: seenIn(
      'pkg/cloud/baremetal/config.test.ts',
      'the option selects the provider, which reads its file on each call',
    ),
  },
  'vendor-container-registry-config': { argument: '/f', proof: 'inert' },
  'container-runtime': {
    argument: 'docker',
    proof: seenIn('pkg/nodeagent/options/options.test.ts', 'invalid values are refused with a message'),
  },
  'container-runtime-endpoint': { argument: 'unix:///s', proof: requested },
  'image-service-endpoint': {
    argument: 'unix:///s',
    proof: seenIn('pkg/nodeagent/images/pulls.containerd.test.ts', 'a separate image service'),
  },
  'runtime-cgroups': {
    argument: '/runtime',
    proof: seenIn('pkg/nodeagent/server/stats.test.ts', 'the summary contains the system cgroups that options name'),
  },
  'runtime-request-timeout': {
    argument: '7s',
    fields: { runtimeRequestTimeout: '7s' },
    proof: seenIn('pkg/nodeagent/cri/grpc/faults.test.ts', 'silent connections are closed at the deadline'),
  },
  'pod-infra-container-image': { argument: 'example.com/pause:1', proof: sees('a b', removedImages()) },
  'image-credential-provider-bin-dir': { argument: '/d', proof: pulls },
  'image-credential-provider-config': { argument: '/f', proof: pulls },
  'exit-on-lock-contention': { argument: 'true', proof: 'inert' },
  'lock-file': { argument: '/f', proof: 'inert' },
  'experimental-mounter-path': {
    argument: '/bin/mounter',
    proof: seenIn('pkg/nodeagent/files/mount-command.test.ts', "a command's output is kept up to a limit"),
  },
  'experimental-allocatable-ignore-eviction': {
    argument: 'true',
    with: ['--eviction-hard=memory.available<1Gi'],
    proof: sees(
      String(128 * 2 ** 20),
      node(({ status }) => kibibytes(status?.allocatable?.['memory'])),
    ),
  },
  'keep-terminated-pod-volumes': {
    argument: 'true',
    proof: seenIn('pkg/nodeagent/volumes/pod-volumes.test.ts', 'the next agent leaves existing volumes unchanged'),
  },
  'master-service-namespace': {
    argument: 'other',
    proof: seenIn(
      'pkg/nodeagent/environment/environment.test.ts',
      'service variables: services of the namespace and the API',
    ),
  },
  'seccomp-default': {
    argument: 'true',
    fields: { seccompDefault: true },
    gates: ['SeccompDefault'],
    proof: sees(
      'RuntimeDefault',
      started(({ container }) => container.linux.securityContext.seccomp?.profileType),
    ),
  },
  'node-status-update-frequency': {
    argument: '30s',
    fields: { nodeStatusUpdateFrequency: '30s', nodeStatusReportFrequency: '1s' },
    with: ['--node-status-report-frequency=1s'],
    proof: sees(5, heartbeats),
  },
  'node-status-report-frequency': {
    argument: '1m',
    fields: { nodeStatusReportFrequency: '1m' },
    proof: sees(3, heartbeats),
  },
  'node-lease-duration-seconds': {
    argument: '8',
    fields: { nodeLeaseDurationSeconds: 8 },
    proof: sees(
      8,
      lease(({ spec }) => spec?.leaseDurationSeconds),
    ),
  },
  'event-qps': {
    argument: '7',
    fields: { eventRecordQPS: 7 },
    proof: seenIn(
      'pkg/client/rest/rest-client.test.ts',
      'the rate limit delays requests, and a waiting request can be aborted',
    ),
  },
  'event-burst': {
    argument: '7',
    fields: { eventBurst: 7 },
    proof: seenIn('pkg/client/token-bucket.test.ts', 'allows a burst, then the rate'),
  },
  'orch-api-qps': {
    argument: '7',
    fields: { orchAPIQPS: 7 },
    proof: seenIn(
      'pkg/client/rest/rest-client.test.ts',
      'the rate limit delays requests, and a waiting request can be aborted',
    ),
  },
  'orch-api-burst': {
    argument: '7',
    fields: { orchAPIBurst: 7 },
    proof: seenIn('pkg/client/token-bucket.test.ts', 'allows a burst, then the rate'),
  },
  'orch-api-content-type': {
    argument: 'application/json',
    fields: { contentType: 'application/json' },
    proof: seenIn('pkg/client/rest/protobuf-encoding.test.ts', 'accepts only supported content types'),
  },
};
