import type { FilterPlugin } from '#scheduler/framework/plugin.js';

/** The node that the pod names, if it names one. */
export const nodeName: FilterPlugin = {
  name: 'NodeName',
  events: ['NodeAdd'],
  filter(pod, node) {
    const wanted = pod.pod.spec.nodeName ?? '';
    if (wanted === '' || wanted === node.name) return undefined;
    return { reasons: ["node(s) didn't match the requested node name"], unresolvable: true };
  },
};
