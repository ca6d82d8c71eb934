import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { addedFields } from '#apimachinery/apply/added-fields.js';
import { compare } from '#apimachinery/apply/compare.js';
import { isEmptySet, recursiveDifference, setOfFields, setsEqual, sorted } from '#apimachinery/apply/field-set.js';
import { RandomObjects, seededRandom } from '#apimachinery/codec/random-object.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
t.comment(`SEED=${seed}`);
const hidden = setOfFields(['metadata.labels', 'metadata.name', 'status', 'kind']);
const scheme = schemeFor(kubernetesDialect);

t.test('new objects of every type have the fields that a comparison with nothing finds', async (t) => {
  const objects = new RandomObjects(seededRandom(seed));
  for (const name of scheme.typeNames()) {
    const type = scheme.type(name);
    if (type.shape !== 'struct') continue;
    for (let i = 0; i < 4; i++) {
      const object = i === 0 ? {} : objects.object(type);
      const { touched: wanted, removed, isSame } = compare(type, {}, object);
      const found = addedFields(type, object);
      if (!setsEqual(found, wanted)) t.strictSame(found, wanted, `${name}, SEED=${seed}`);
      if (sorted(found) !== found) t.fail(`${name} is in order, SEED=${seed}`);
      const rest = recursiveDifference(found, hidden);
      const seen = addedFields(type, object, hidden);
      if (!setsEqual(seen, rest)) t.strictSame(seen, rest, `what is seen of ${name}, SEED=${seed}`);
      if (isSame !== isEmptySet(found) || !isEmptySet(removed)) t.fail(`${name} is the same, SEED=${seed}`);
    }
  }
});
