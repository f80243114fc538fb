(class_declaration name: (identifier) @class)
