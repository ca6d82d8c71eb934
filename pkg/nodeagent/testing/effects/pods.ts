/** Effects of options of pods, images, network and containers' logs. */
import { type Effects, seenIn, sees } from '#nodeagent/testing/effects/effect.js';
import { node, started } from '#nodeagent/testing/effects/node-sights.js';
import { deadContainers, removedImages, removedYoungImages } from '#nodeagent/testing/effects/reclaim-sights.js';
import { podRanges, reportedImages } from '#nodeagent/testing/effects/time-sights.js';

const pulls = seenIn(
  'pkg/nodeagent/images/puller.test.ts',
  'pulls beyond the rate limit fail and are retried after a back-off',
);

export const podsEffects: Effects = {
  'max-pods': {
    argument: '7',
    fields: { maxPods: 7 },
    proof: sees(
      '7',
      node(({ status }) => status?.capacity?.['pods']),
    ),
  },
  'pods-per-core': {
    argument: '2',
    fields: { podsPerCore: 2 },
    proof: sees(
      '64',
      node(({ status }) => status?.capacity?.['pods']),
    ),
  },
  'pod-max-pids': {
    argument: '77',
    fields: { podPidsLimit: 77 },
    proof: seenIn(
      'pkg/nodeagent/resources/node-cgroups.test.ts',
      'version 1: cgroups of all pods, the classes and each pod',
    ),
  },
  'pod-cidr': { argument: '10.9.0.0/24', fields: { podCIDR: '10.9.0.0/24' }, proof: sees(['10.9.0.0/24'], podRanges) },
  'pod-manifest-path': {
    argument: '/d',
    fields: { staticPodPath: '/d' },
    proof: seenIn('pkg/nodeagent/static-pods.test.ts', 'files are added, changed and removed'),
  },
  'manifest-url': {
    argument: 'http://127.0.0.1:7/',
    fields: { staticPodURL: 'http://127.0.0.1:7/' },
    proof: seenIn(
      'pkg/nodeagent/static-pods.test.ts',
      'requests to a web server have the headers, and its invalid responses change nothing',
    ),
  },
  'manifest-url-header': {
    argument: 'A:b',
    fields: { staticPodURLHeader: { A: ['b'] } },
    proof: seenIn(
      'pkg/nodeagent/static-pods.test.ts',
      'requests to a web server have the headers, and its invalid responses change nothing',
    ),
  },
  'file-check-frequency': {
    argument: '7s',
    fields: { fileCheckFrequency: '7s' },
    proof: seenIn('pkg/nodeagent/static-pods.test.ts', 'files are added, changed and removed'),
  },
  'http-check-frequency': {
    argument: '7s',
    fields: { httpCheckFrequency: '7s' },
    proof: seenIn('pkg/nodeagent/sources/manifest-url.test.ts', 'invalid responses of every kind change nothing'),
  },
  'sync-frequency': {
    argument: '7s',
    fields: { syncFrequency: '7s' },
    proof: seenIn('pkg/nodeagent/pods/worker.test.ts', 'syncs, rests, and syncs again on a change or when due'),
  },
  'config-map-and-secret-change-detection-strategy': {
    argument: 'Get',
    fields: { configMapAndSecretChangeDetectionStrategy: 'Get' },
    proof: seenIn('pkg/nodeagent/objects/referenced-objects.test.ts', 'without caching every access reads'),
  },
  'node-status-max-images': { argument: '1', fields: { nodeStatusMaxImages: 1 }, proof: sees(1, reportedImages) },
  'image-gc-high-threshold': {
    argument: '99',
    fields: { imageGCHighThresholdPercent: 99 },
    proof: sees('', removedImages()),
  },
  'image-gc-low-threshold': {
    argument: '70',
    fields: { imageGCLowThresholdPercent: 70 },
    proof: sees('example.com/pause:1 a b', removedImages()),
  },
  'minimum-image-ttl-duration': {
    argument: '7s',
    fields: { imageMinimumGCAge: '7s' },
    proof: sees('young', removedYoungImages()),
  },
  'volume-stats-agg-period': {
    argument: '7s',
    fields: { volumeStatsAggPeriod: '7s' },
    proof: seenIn(
      'pkg/nodeagent/stats/storage-meter.test.ts',
      'volumes and logs of pods are measured once per period at most',
    ),
  },
  'volume-plugin-dir': { argument: '/d', fields: { volumePluginDir: '/d' }, proof: 'inert' },
  'enable-controller-attach-detach': {
    argument: 'false',
    fields: { enableControllerAttachDetach: false },
    proof: sees(
      false,
      node(({ metadata }, { annotations }) => annotations.controllerAttachDetach in (metadata.annotations ?? {})),
    ),
  },
  'serialize-image-pulls': {
    argument: 'false',
    fields: { serializeImagePulls: false },
    proof: seenIn(
      'pkg/nodeagent/images/pulls.containerd.test.ts',
      'images are pulled with credentials of the pod, of plugins and of the node',
    ),
  },
  'registry-qps': { argument: '7', fields: { registryPullQPS: 7 }, proof: pulls },
  'registry-burst': { argument: '7', fields: { registryBurst: 7 }, proof: pulls },
  'make-iptables-util-chains': { argument: 'false', fields: { makeIPTablesUtilChains: false }, proof: 'inert' },
  'iptables-drop-bit': { argument: '7', fields: { iptablesDropBit: 7 }, proof: 'inert' },
  'iptables-masquerade-bit': { argument: '7', fields: { iptablesMasqueradeBit: 7 }, proof: 'inert' },
  'hairpin-mode': { argument: 'none', fields: { hairpinMode: 'none' }, proof: 'inert' },
  'resolv-conf': {
    argument: '/f',
    fields: { resolvConf: '/f' },
    proof: seenIn(
      'pkg/nodeagent/environment/environment.test.ts',
      'the DNS policy determines the resolver configuration',
    ),
  },
  'dns-address': {
    argument: '127.0.0.9',
    proof: seenIn('pkg/dns/local-addresses.test.ts', 'addresses are added and removed'),
  },
  'cluster-dns': {
    argument: '10.96.0.10',
    fields: { clusterDNS: ['10.96.0.10'] },
    proof: sees(
      ['10.96.0.10'],
      started(({ sandbox }) => sandbox.dnsConfig?.servers),
    ),
  },
  'cluster-domain': {
    argument: 'example.org',
    fields: { clusterDomain: 'example.org' },
    with: ['--cluster-dns=10.96.0.10'],
    proof: sees(
      'svc.example.org',
      started(({ sandbox }) => sandbox.dnsConfig?.searches[1]),
    ),
  },
  runonce: {
    argument: 'true',
    fields: { runOnce: true },
    proof: seenIn('pkg/nodeagent/static-pods.test.ts', 'a one-off run ends when the pods run, and leaves them running'),
  },
  'container-log-max-files': {
    argument: '2',
    fields: { containerLogMaxFiles: 2 },
    proof: seenIn('pkg/nodeagent/logs/reader.test.ts', 'large logs are rotated, and the oldest is removed'),
  },
  'container-log-max-size': {
    argument: '1Ki',
    fields: { containerLogMaxSize: '1Ki' },
    proof: seenIn('pkg/nodeagent/logs/reader.test.ts', 'large logs are rotated, and the oldest is removed'),
  },
  'maximum-dead-containers': {
    argument: '2',
    with: ['--maximum-dead-containers-per-container=5'],
    proof: sees(2, deadContainers()),
  },
  'maximum-dead-containers-per-container': { argument: '3', proof: sees(3, deadContainers()) },
  'minimum-container-ttl-duration': { argument: '1h', proof: sees(2, deadContainers()) },
};
