import t from 'tap';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { coreCases } from '#test/integration/apiserver/resources/core.js';
import { testResources } from '#test/integration/apiserver/resources/exercise.js';

testResources(t, coreCases, kubernetesDialect);
