(class_heritage (identifier) @use)
(class_declaration name: (identifier) @class)
