-- How much meaning counts against words depends on the model: what is found to be
-- best for one says nothing of another.

-- +goose Up
alter table embedding_models add column weight double precision
    constraint embedding_models_weight_valid check (weight > 0 and weight < 1);

-- +goose Down
alter table embedding_models drop column weight;
