import { imageLocality } from '#scheduler/plugins/image-locality.js';
import { node, scores, table } from '#scheduler/testing/plugin-table.js';

/** MiB by image. */
type Images = Readonly<Record<string, number>>;

const holder = (images: Images, i: number) =>
  node(
    `n${i}`,
    {},
    {
      images: Object.entries(images).map(([names, size]) => ({
        names: names.split(' '),
        sizeBytes: size * 1024 * 1024,
      })),
    },
  );
const ask = (image: string, ...nodes: Images[]) =>
  scores(
    imageLocality,
    {
      spec: {
        containers: image
          .split(' ')
          .filter(Boolean)
          .map((image, i) => ({ name: `c${i}`, image })),
        initContainers: [{ name: 'first', image: 'only-first:1' }],
      },
    },
    { nodes: nodes.map(holder) },
  );

// For one container, 23 MiB score 0 and 1000 MiB score 100; an image is weighted by the share of nodes that have it.
table('scores', ask, [
  ['no containers', '', { 'a:1': 500 }, [0]],
  ['no images', 'a:1', {}, [0]],
  ['only another image is present', 'a:1', { 'b:1': 500 }, [0]],
  ['the image is on the only node', 'a:1', { 'a:1': 500 }, [48]],
  ['the size that scores zero', 'a:1', { 'a:1': 23 }, [0]],
  ['a smaller size', 'a:1', { 'a:1': 5 }, [0]],
  ['slightly above the size that scores zero', 'a:1', { 'a:1': 33 }, [1]],
  ['the size with the maximum score', 'a:1', { 'a:1': 1000 }, [100]],
  ['a larger size', 'a:1', { 'a:1': 4000 }, [100]],
  ['one of two nodes has the image', 'a:1', { 'a:1': 500 }, {}, [23, 0]],
  ['both nodes have the image', 'a:1', { 'a:1': 500 }, { 'a:1': 500 }, [48, 48]],
  ['one of four nodes has the image', 'a:1', { 'a:1': 400 }, {}, {}, {}, [7, 0, 0, 0]],
  ['few nodes have a small image: the score is rounded to zero', 'a:1', { 'a:1': 90 }, {}, {}, {}, [0, 0, 0, 0]],
  ['one of two nodes has a large image', 'a:1', { 'a:1': 4000 }, {}, [100, 0]],
  ['the same name with different sizes', 'a:1', { 'a:1': 200 }, { 'a:1': 900 }, [18, 89]],
  ['a name without a tag means the tag latest', 'a', { 'a:latest': 500 }, [48]],
  ['a name without a tag matches no other tag', 'a', { 'a:1': 500 }, [0]],
  ['node images without a tag do not match the tag latest', 'a:latest', { a: 500 }, [0]],
  ['a registry with a port, without a tag', 'r:5000/a', { 'r:5000/a:latest': 500 }, [48]],
  ['a registry with a port and a tag', 'r:5000/a:1', { 'r:5000/a:1': 500 }, [48]],
  ['a registry is part of the name', 'r/a:1', { 'a:1': 500 }, [0]],
  ['a digest', 'a@sha256:1f', { 'a@sha256:1f': 500 }, [48]],
  ['one of several names of the image', 'a:1', { 'a@sha256:1f a:1': 500 }, [48]],
  ['another one of the names of the image', 'a@sha256:1f', { 'a@sha256:1f a:1': 500 }, [48]],
  ['two containers, two images', 'a:1 b:1', { 'a:1': 500, 'b:1': 500 }, [49]],
  ['two containers, one image is present', 'a:1 b:1', { 'a:1': 500 }, [24]],
  ['two containers, the sum exceeds the maximum', 'a:1 b:1', { 'a:1': 1000, 'b:1': 1000 }, [100]],
  ['two containers, one large image', 'a:1 b:1', { 'a:1': 2000 }, [100]],
  ['two containers of one image count twice', 'a:1 a:1', { 'a:1': 500 }, [49]],
  ['two images on two nodes', 'a:1 b:1', { 'a:1': 500 }, { 'b:1': 900 }, [11, 21]],
  ['init containers do not count', 'a:1', { 'only-first:1': 900 }, [0]],
  ['names of object properties', 'constructor', { 'a:1': 500 }, [0]],
]);
