import { type ScorePlugin, scaleToMax } from '#scheduler/framework/plugin.js';

/**
 * Prefers nodes with few replicas of the pod, so that the loss of a node takes few of them. Stands for the default
 * constraint of release 1.24's PodTopologySpread on host names, under its name and weight.
 */
export const replicaSpread: ScorePlugin = {
  name: 'PodTopologySpread',
  weight: 2,
  relevant: (pod) => pod.controller !== '',
  score: (pod, node) => node.replicasOf(pod.controller),
  normalize: (scores) => scaleToMax(scores, true),
};
