import t from 'tap';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { betaCases } from '#test/integration/apiserver/resources/beta.js';
import { testResources } from '#test/integration/apiserver/resources/exercise.js';

for (const dialect of [kubernetesDialect, orchDialect]) testResources(t, betaCases, dialect);
