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
  ['another image', 'a:1', { 'b:1': 500 }, [0]],
  ['the image, on the only node', 'a:1', { 'a:1': 500 }, [48]],
  ['as little as counts for nothing', 'a:1', { 'a:1': 23 }, [0]],
  ['less than that', 'a:1', { 'a:1': 5 }, [0]],
  ['a little more than that', 'a:1', { 'a:1': 33 }, [1]],
  ['as much as counts', 'a:1', { 'a:1': 1000 }, [100]],
  ['more than that', 'a:1', { 'a:1': 4000 }, [100]],
  ['one of two nodes has it', 'a:1', { 'a:1': 500 }, {}, [23, 0]],
  ['both have it', 'a:1', { 'a:1': 500 }, { 'a:1': 500 }, [48, 48]],
  ['one of four has it', 'a:1', { 'a:1': 400 }, {}, {}, {}, [7, 0, 0, 0]],
  ['one of many: nothing is left', 'a:1', { 'a:1': 90 }, {}, {}, {}, [0, 0, 0, 0]],
  ['a large one on one of two', 'a:1', { 'a:1': 4000 }, {}, [100, 0]],
  ['other sizes of one name', 'a:1', { 'a:1': 200 }, { 'a:1': 900 }, [18, 89]],
  ['no tag is the latest', 'a', { 'a:latest': 500 }, [48]],
  ['no tag is no other', 'a', { 'a:1': 500 }, [0]],
  ['nodes say the tag', 'a:latest', { a: 500 }, [0]],
  ['a registry with a port, no tag', 'r:5000/a', { 'r:5000/a:latest': 500 }, [48]],
  ['a registry with a port, a tag', 'r:5000/a:1', { 'r:5000/a:1': 500 }, [48]],
  ['a registry is part of the name', 'r/a:1', { 'a:1': 500 }, [0]],
  ['by digest', 'a@sha256:1f', { 'a@sha256:1f': 500 }, [48]],
  ['one of an image’s names', 'a:1', { 'a@sha256:1f a:1': 500 }, [48]],
  ['one of an image’s names, each is known', 'a@sha256:1f', { 'a@sha256:1f a:1': 500 }, [48]],
  ['two containers, two images', 'a:1 b:1', { 'a:1': 500, 'b:1': 500 }, [49]],
  ['two containers, one image is there', 'a:1 b:1', { 'a:1': 500 }, [24]],
  ['two containers, more is all', 'a:1 b:1', { 'a:1': 1000, 'b:1': 1000 }, [100]],
  ['two containers, one large image', 'a:1 b:1', { 'a:1': 2000 }, [100]],
  ['two containers of one image count twice', 'a:1 a:1', { 'a:1': 500 }, [49]],
  ['two images on two nodes', 'a:1 b:1', { 'a:1': 500 }, { 'b:1': 900 }, [11, 21]],
  ['init containers do not count', 'a:1', { 'only-first:1': 900 }, [0]],
  ['names that every object has', 'constructor', { 'a:1': 500 }, [0]],
]);
