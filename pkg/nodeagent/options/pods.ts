/** Options of pods, images, network and logs. Names and defaults of release 1.24. */
import { isQuantity, quantitySign } from '#apimachinery/quantity.js';
import type { OptionTable } from '#daemon/options/option.js';

export const hairpinModes: readonly string[] = ['none', 'hairpin-veth', 'promiscuous-bridge'];

function bufferSizeError(text: string): string | undefined {
  return isQuantity(text) && quantitySign(text) >= 0 ? undefined : 'must be a quantity that is not negative';
}

export const podsOptions = {
  'max-pods': {
    type: 'int',
    default: 110,
    section: 'Pods',
    configField: 'maxPods',
    meaning: 'Maximum number of pods on the node.',
  },
  'pods-per-core': {
    type: 'int',
    section: 'Pods',
    configField: 'podsPerCore',
    meaning: 'Maximum number of pods per CPU; 0: no limit.',
  },
  'pod-max-pids': {
    type: 'int',
    default: -1,
    section: 'Pods',
    configField: 'podPidsLimit',
    meaning: 'Maximum number of processes per pod; -1: no limit.',
  },
  'pod-cidr': {
    type: 'string',
    section: 'Network',
    configField: 'podCIDR',
    meaning: 'Address range of pods, if no controller assigns one.',
  },
  'pod-manifest-path': {
    type: 'string',
    section: 'Pods',
    configField: 'staticPodPath',
    meaning: 'Directory or file with manifests of static pods.',
  },
  'manifest-url': {
    type: 'string',
    section: 'Pods',
    configField: 'staticPodURL',
    meaning: 'URL of manifests of static pods.',
  },
  'manifest-url-header': {
    type: 'strings',
    section: 'Pods',
    configField: 'staticPodURLHeader',
    meaning: 'Headers of requests to --manifest-url, `name:value`.',
  },
  'file-check-frequency': {
    type: 'duration',
    default: 20_000,
    section: 'Pods',
    configField: 'fileCheckFrequency',
    meaning: 'How often files of static pods are read.',
  },
  'http-check-frequency': {
    type: 'duration',
    default: 20_000,
    section: 'Pods',
    configField: 'httpCheckFrequency',
    meaning: 'How often --manifest-url is polled.',
  },
  'sync-frequency': {
    type: 'duration',
    default: 60_000,
    section: 'Pods',
    configField: 'syncFrequency',
    meaning:
      'How often an unchanged pod is synchronized, randomly extended by up to half. Changes take effect at once.',
  },
  'config-map-and-secret-change-detection-strategy': {
    type: 'string',
    default: 'Watch',
    oneOf: ['Get', 'Cache', 'Watch'],
    section: 'Pods',
    configField: 'configMapAndSecretChangeDetectionStrategy',
    meaning:
      'How to detect changes of ConfigMaps and Secrets: Watch them, reread them when the Cache is too old, or Get them each time.',
  },
  'node-status-max-images': {
    type: 'int',
    default: 50,
    section: 'Images',
    configField: 'nodeStatusMaxImages',
    meaning: 'Maximum number of images in the status of the node; -1: all.',
  },
  'image-gc-high-threshold': {
    type: 'int',
    default: 85,
    section: 'Images',
    configField: 'imageGCHighThresholdPercent',
    meaning: 'Disk usage in percent at which removal of unused images begins; 100: never.',
  },
  'image-gc-low-threshold': {
    type: 'int',
    default: 80,
    section: 'Images',
    configField: 'imageGCLowThresholdPercent',
    meaning: 'Disk usage in percent at which removal of unused images ends.',
  },
  'minimum-image-ttl-duration': {
    type: 'duration',
    default: 120_000,
    section: 'Images',
    configField: 'imageMinimumGCAge',
    meaning: 'Minimum age of an unused image before removal, since the agent first saw it.',
  },
  'volume-stats-agg-period': {
    type: 'duration',
    default: 60_000,
    section: 'Pods',
    configField: 'volumeStatsAggPeriod',
    meaning: 'Minimum interval between measurements of volumes, which are made on request; 0 disables them.',
  },
  'volume-plugin-dir': {
    type: 'string',
    default: '/usr/libexec/orch/nodeagent-plugins/volume/exec/',
    section: 'Pods',
    configField: 'volumePluginDir',
    inert: 'this agent does not support external volume plugins',
    meaning: 'Directory of third-party volume plugins.',
  },
  'enable-controller-attach-detach': {
    type: 'bool',
    default: true,
    section: 'Pods',
    configField: 'enableControllerAttachDetach',
    meaning: 'Set the annotation of the node by which a controller attaches its volumes; this agent attaches none.',
  },
  'serialize-image-pulls': {
    type: 'bool',
    default: true,
    section: 'Images',
    configField: 'serializeImagePulls',
    meaning: 'Pull one image at a time.',
  },
  'registry-qps': {
    type: 'int',
    default: 5,
    section: 'Images',
    configField: 'registryPullQPS',
    meaning: 'Maximum image pulls per second; 0: no limit.',
  },
  'registry-burst': {
    type: 'int',
    default: 10,
    section: 'Images',
    configField: 'registryBurst',
    meaning: 'Maximum burst of image pulls.',
  },
  'make-iptables-util-chains': {
    type: 'bool',
    default: true,
    section: 'Network',
    configField: 'makeIPTablesUtilChains',
    inert: 'the agent has no chains of iptables',
    meaning: 'Maintain utility chains of iptables.',
  },
  'iptables-drop-bit': {
    type: 'int',
    default: 15,
    section: 'Network',
    configField: 'iptablesDropBit',
    inert: 'the agent has no chains of iptables',
    meaning: 'Bit that marks packets to drop.',
  },
  'iptables-masquerade-bit': {
    type: 'int',
    default: 14,
    section: 'Network',
    configField: 'iptablesMasqueradeBit',
    inert: 'the agent has no chains of iptables',
    meaning: 'Bit that marks packets to masquerade.',
  },
  'hairpin-mode': {
    type: 'string',
    default: 'promiscuous-bridge',
    section: 'Network',
    choices: hairpinModes,
    configField: 'hairpinMode',
    inert: 'the network plugin of the runtime determines it',
    meaning: 'How pods reach themselves through a service.',
  },
  'resolv-conf': {
    type: 'string',
    default: '/etc/resolv.conf',
    section: 'Network',
    configField: 'resolvConf',
    meaning: 'Resolver configuration on which that of pods is based; empty for none.',
  },
  'dns-address': {
    type: 'strings',
    section: 'Network',
    meaning:
      'Addresses at which this process serves cluster DNS; they are added to the loopback interface if the node does not have them. Pods use them unless --cluster-dns is set. Empty: no DNS server.',
  },
  'cluster-dns': { type: 'strings', section: 'Network', configField: 'clusterDNS', meaning: 'Name servers of pods.' },
  'cluster-domain': {
    type: 'string',
    default: '',
    section: 'Network',
    configField: 'clusterDomain',
    meaning: 'Search domain of pods.',
  },
  runonce: { type: 'bool', section: 'Pods', configField: 'runOnce', meaning: 'Run static pods once and exit.' },
  'container-log-max-files': {
    type: 'int',
    default: 5,
    section: 'Logs',
    configField: 'containerLogMaxFiles',
    meaning: 'Maximum number of log files per container.',
  },
  'container-log-max-size': {
    type: 'string',
    default: '10Mi',
    section: 'Logs',
    configField: 'containerLogMaxSize',
    meaning: 'Size at which a log file is rotated.',
  },
  'maximum-dead-containers': {
    type: 'int',
    default: -1,
    section: 'Pods',
    deprecated: 'use eviction thresholds instead',
    meaning:
      'Maximum number of exited containers on the node; -1: no limit. The last run of each container is removed last.',
  },
  'maximum-dead-containers-per-container': {
    type: 'int',
    default: 1,
    section: 'Pods',
    deprecated: 'use eviction thresholds instead',
    meaning: 'Maximum number of exited runs per container; -1: no limit.',
  },
  'minimum-container-ttl-duration': {
    type: 'duration',
    section: 'Pods',
    deprecated: 'use eviction thresholds instead',
    meaning: 'Minimum age of an exited container before removal, since its creation.',
  },
  'log-json-split-stream': {
    type: 'bool',
    section: 'Logs',
    configField: 'logging.options.json.splitStream',
    meaning: 'With JSON logs, write errors to standard error and the rest to standard output.',
  },
  'log-json-info-buffer-size': {
    type: 'string',
    default: '0',
    section: 'Logs',
    check: bufferSizeError,
    configField: 'logging.options.json.infoBufferSize',
    meaning:
      'Bytes of standard output that --log-json-split-stream collects before it writes them, such as 512, 1K or 2Ki, for at most 30 seconds; 0: none.',
  },
} as const satisfies OptionTable;
