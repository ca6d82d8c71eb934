// Keeps pods off nodes that a label calls quiet, unless they have the label, too.

/** What a module of plugins exports: how the plugin is called, what arguments it takes, and how it is made. */
export default {
  name: 'QuietNodes',
  args: { label: 'string' },
  make({ label = 'quiet' }) {
    const refused = { reasons: ['node(s) wanted to be quiet'], unresolvable: true };
    return {
      name: 'QuietNodes',
      // When a pod that was refused is worth another try.
      events: ['NodeAdd', 'NodeLabelChange'],
      filter: {
        // The pod's labels count, which pods of equal specs need not share.
        local: false,
        prepare(pod) {
          if (pod.labels[label] !== undefined) return undefined;
          return {
            filter: (node) => (node.labels[label] === undefined ? undefined : refused),
          };
        },
      },
    };
  },
};
