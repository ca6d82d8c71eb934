import type { Plugin } from '#scheduler/framework/plugin.js';

const rejection = { reasons: ["node(s) didn't match the requested node name"], unresolvable: true } as const;

/** Passes only the node named in the pod's spec, if it names one. */
export const nodeName: Plugin = {
  name: 'NodeName',
  events: ['NodeAdd'],
  filter: {
    local: true,
    prepare({ pod }) {
      const requiredName = pod.spec.nodeName ?? '';
      return requiredName === ''
        ? undefined
        : { filter: ({ name }) => (name === requiredName ? undefined : rejection) };
    },
  },
};
