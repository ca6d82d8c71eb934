import { maxNodeScore, type Plugin } from '#scheduler/framework/plugin.js';

const mebibyte = 1024 * 1024;
const minBytes = 23 * mebibyte;
const maxBytesPerContainer = 1000 * mebibyte;

/** Prefers nodes with the pod's images. Images on few nodes count less, so that one node does not get all pods. */
export const imageLocality: Plugin = {
  name: 'ImageLocality',
  score: {
    local: false,
    prepare({ pod }, cluster) {
      const names = (pod.spec.containers ?? []).map(({ image }) => normalizedImage(image ?? ''));
      if (names.length === 0) return undefined;
      const max = maxBytesPerContainer * names.length;
      return {
        isIdle: () => names.every((name) => cluster.nodesWithImage(name) === 0),
        score({ images }) {
          if (images.size === 0) return 0;
          let bytes = 0;
          for (const name of names) {
            const size = images.get(name);
            if (size === undefined) continue;
            bytes += Math.trunc(size * (cluster.nodesWithImage(name) / cluster.nodes().length));
          }
          const within = Math.min(max, Math.max(minBytes, bytes));
          return Math.trunc((maxNodeScore * (within - minBytes)) / (max - minBytes));
        },
      };
    },
  },
};

/** The image name with the default tag `latest`. */
function normalizedImage(name: string): string {
  return name.lastIndexOf(':') <= name.lastIndexOf('/') ? `${name}:latest` : name;
}
