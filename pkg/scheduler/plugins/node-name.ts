import type { Plugin } from '#scheduler/framework/plugin.js';

const rejection = { reasons: ["node(s) didn't match the requested node name"], unresolvable: true } as const;

/** The node that the pod names, if it names one. */
export const nodeName: Plugin = {
  name: 'NodeName',
  events: ['NodeAdd'],
  filter: {
    local: true,
    prepare({ pod }) {
      const wanted = pod.spec.nodeName ?? '';
      return wanted === '' ? undefined : { filter: ({ name }) => (name === wanted ? undefined : rejection) };
    },
  },
};
