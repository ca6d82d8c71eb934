import t from 'tap';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { coreCases } from '#test/integration/apiserver/resources/core.js';
import { testLargeSpecs } from '#test/integration/apiserver/resources/repetition.js';

testLargeSpecs(t, coreCases, kubernetesDialect);
