import type { Plugin } from '#scheduler/framework/plugin.js';

const rejection = { reasons: ["node(s) didn't have free ports for the requested pod ports"] };

/** Passes nodes where the pod's host ports are free. */
export const nodePorts: Plugin = {
  name: 'NodePorts',
  events: ['NodeAdd', 'AssignedPodDelete'],
  filter: {
    local: true,
    prepare({ hostPorts }) {
      if (hostPorts.length === 0) return undefined;
      return { filter: (node) => (hostPorts.some((port) => node.isPortUsed(port)) ? rejection : undefined) };
    },
  },
};
