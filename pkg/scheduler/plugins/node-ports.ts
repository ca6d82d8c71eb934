import type { FilterPlugin } from '#scheduler/framework/plugin.js';

/** The pod's host ports are free on the node. */
export const nodePorts: FilterPlugin = {
  name: 'NodePorts',
  events: ['NodeAdd', 'AssignedPodDelete'],
  filter(pod, node) {
    for (const port of pod.hostPorts) {
      if (node.portTaken(port)) return { reasons: ["node(s) didn't have free ports for the requested pod ports"] };
    }
    return undefined;
  },
};
