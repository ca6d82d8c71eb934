import type { Dialect } from '#apimachinery/dialect.js';
import { type EnabledPlugin, makeProfile, type Profile } from '#scheduler/framework/profile.js';
import { imageLocality } from '#scheduler/plugins/image-locality.js';
import { interPodAffinity } from '#scheduler/plugins/inter-pod-affinity.js';
import { nodeAffinity } from '#scheduler/plugins/node-affinity.js';
import { nodeName } from '#scheduler/plugins/node-name.js';
import { nodePorts } from '#scheduler/plugins/node-ports.js';
import { balancedAllocation } from '#scheduler/plugins/node-resources/balanced-allocation.js';
import { nodeResourcesFit } from '#scheduler/plugins/node-resources/fit.js';
import { nodeUnschedulable } from '#scheduler/plugins/node-unschedulable.js';
import { podTopologySpread } from '#scheduler/plugins/pod-topology-spread/plugin.js';
import { taintToleration } from '#scheduler/plugins/taint-toleration.js';
import { volumeBinding } from '#scheduler/plugins/volume-binding/plugin.js';

/** The plugins that release 1.24 enables by default, as far as they exist here, in its order and with its weights. */
const defaultPlugins = (dialect: Dialect): EnabledPlugin[] => [
  { plugin: nodeUnschedulable(dialect) },
  { plugin: nodeName },
  { plugin: taintToleration, weight: 3 },
  { plugin: nodeAffinity(), weight: 2 },
  { plugin: nodePorts },
  { plugin: nodeResourcesFit() },
  { plugin: volumeBinding(dialect) },
  { plugin: podTopologySpread(dialect), weight: 2 },
  { plugin: interPodAffinity(), weight: 2 },
  { plugin: balancedAllocation() },
  { plugin: imageLocality },
];

export function defaultProfile(dialect: Dialect): Profile {
  return makeProfile(dialect.components.defaultScheduler, defaultPlugins(dialect));
}
